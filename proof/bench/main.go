// Bench measures Once beside the SDK by hand and Powertools for TypeScript on DynamoDB
// Local, and all stores side by side, and writes docs/performance.md. Run it with "make
// bench".
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/crew"
	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/report"
	"github.com/lambda-once/once/proof/bench/internal/servers"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

//go:embed typescript
var sources embed.FS

func main() {
	if crew.IsWorker() {
		os.Exit(crew.Work())
	}
	out := flag.String("out", "../../docs", "the folder of performance.md and of its plots in performance")
	long := flag.Duration("for", 8*time.Minute+30*time.Second, "how long rounds are repeated")
	records := flag.Int("records", 100_000, "records of the largest table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *out, plan.Long(*long, *records)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures a plan, writes the page, and prints the targets.
func bench(ctx context.Context, out string, p plan.Plan) error {
	began, machine := time.Now(), report.ThisMachine()
	r, node, err := measure(ctx, p, os.Stderr)
	if err != nil {
		return err
	}
	machine.Node = strings.TrimPrefix(node, "v")
	cold, err := coldStart(ctx, "../../examples")
	if err != nil {
		return err
	}
	if err := write(out, r, machine, cold, began, time.Since(began)); err != nil {
		return err
	}
	fmt.Print(machine.Warning(), "\n\n", report.TargetTable(r, cold))
	return nil
}

// write writes the page and its plots.
func write(dir string, r *plan.Results, m report.Machine, cold *report.ColdStart, began time.Time, took time.Duration) error {
	if err := report.WritePlots(filepath.Join(dir, "performance"), r); err != nil {
		return err
	}
	page, err := report.Page(r, m, cold, began, took)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "performance.md"), []byte(page), 0o644)
}

// measure runs a plan against servers of its own, or those of the environment. It
// returns the version of Node, or "".
func measure(ctx context.Context, p plan.Plan, log io.Writer) (r *plan.Results, node string, err error) {
	typescript, err := fs.Sub(sources, "typescript")
	if err != nil {
		return nil, "", err
	}
	all, err := servers.Start(ctx, log)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, all.Stop()) }()
	c, err := crew.Start(ctx, work.All, typescript, log)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if c.NodeMissing != nil {
		if _, err := fmt.Fprintln(log, "without Powertools for TypeScript:", c.NodeMissing); err != nil {
			return nil, "", err
		}
	}
	r, err = plan.Run(ctx, p, c, all, log)
	return r, c.Node, err
}
