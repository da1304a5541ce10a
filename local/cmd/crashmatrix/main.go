// Command crashmatrix kills the compiled examples at every network call they
// make, before it and after it, and prints what is left of their effects when
// the caller has its answer:
//
//	go run ./local/cmd/crashmatrix
//
// It is run from the root of the module, and exits non-zero if a promise was
// broken. Its DynamoDB is found or started as that of the tests.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/lambda-once/once/local/crashmatrix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := crashmatrix.Run(ctx, os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "\ncrashmatrix:", err)
		os.Exit(1)
	}
}
