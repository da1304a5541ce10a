// Command crashmatrix kills compiled programs before and after every network call
// that they make. It prints the effects that remain when the caller has its answer:
//
//	go -C proof run ./cmd/crashmatrix
//
// Run it in the folder proof. It exits non-zero if a promise was broken. It finds
// or starts DynamoDB Local as the tests do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/lambda-once/once/proof/crashmatrix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := crashmatrix.Run(ctx, os.Stdout, ".."); err != nil {
		fmt.Fprintln(os.Stderr, "\ncrashmatrix:", err)
		os.Exit(1)
	}
}
