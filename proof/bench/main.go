// Bench measures Once beside the SDK by hand, in Go and in TypeScript, and Powertools for
// TypeScript on DynamoDB Local, and all stores side by side, and writes
// docs/performance.md. Run it with "make bench".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

func main() {
	serveIfWorker()
	out := flag.String("out", "../../docs", "the folder of performance.md and of its plots in performance")
	duration := flag.Duration("for", 8*time.Minute+30*time.Second, "how long rounds are repeated")
	records := flag.Int("records", 100_000, "records of the largest table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *out, long(*duration, *records)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serveIfWorker does not return in a process that was started as a worker.
func serveIfWorker() {
	if series := os.Getenv(seriesVar); series != "" {
		work.Serve(series)
		os.Exit(0)
	}
}

// bench measures a plan, writes the page, and prints the targets.
func bench(ctx context.Context, out string, p plan) error {
	page := page{Date: time.Now(), Machine: thisMachine()}
	var err error
	if page.results, err = measureAll(ctx, p, os.Stderr); err != nil {
		return err
	}
	if page.Cold, err = measureColdStart(ctx, "../../examples"); err != nil {
		return err
	}
	page.Took = time.Since(page.Date)
	if err := page.write(out); err != nil {
		return err
	}
	fmt.Print(page.Machine.Warning, "\n\n", page.Targets())
	return nil
}
