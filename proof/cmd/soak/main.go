// Command soak lets several processes work on mixed traffic while they are killed and
// the network fails, and then audits every key:
//
//	go -C proof run ./cmd/soak -for 10m
//
// Run it in the folder proof. It exits non-zero if the audit finds anything, and
// prints the hashes of the keys. It finds or starts DynamoDB Local as the tests do.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/lambda-once/once/proof/soak"
	"github.com/lambda-once/once/proof/soak/worker"
)

func main() {
	worker.Serve()
	duration := flag.Duration("for", 10*time.Minute, "how long traffic and faults last")
	seed := flag.Uint64("seed", 0, "of all choices; 0: a new one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak.Run(ctx, os.Stdout, *duration, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "\nsoak:", err)
		os.Exit(1)
	}
}
