// Command demo shows on a laptop what Once does for a function that charges
// cards, and what nothing can do for it:
//
//	go run ./local/cmd/demo
//
// It compiles examples/payments, starts DynamoDB Local and runs the function in
// the environments of a local Lambda runtime: a storm of duplicates, a reused
// key, a process killed before and after it charged, and one frozen past its
// lease. It prints a timeline, ends with the storm's count of charges, and
// exits non-zero if anything was not as promised.
//
// With neither Java nor Docker it runs the storm alone, in one process, with
// an in-memory store and ledger, and says so.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/lambda-once/once/local/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo.Run(ctx, os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}
