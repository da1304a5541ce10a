// Command demo shows on a laptop how Once protects a function that charges cards, and
// where no library can:
//
//	go run ./local/cmd/demo
//
// It compiles examples/payments, starts DynamoDB Local and runs the function in a local
// Lambda runtime. It plays a storm of duplicates, a reused key, a process killed before
// and after it charged, and one frozen past its lease. It prints a timeline and the
// number of charges, and exits non-zero if a promise was broken.
//
// With neither Java nor Docker, it prints a note and runs only the storm, in one process
// with a store in memory.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/lambda-once/once/internal/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo.Run(ctx, os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}
