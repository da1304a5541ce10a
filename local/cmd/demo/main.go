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
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// run plays all scenes, and prints them to out. root is the folder of the
// repository, where the function is compiled.
func run(ctx context.Context, out io.Writer, root string) (err error) {
	tell := newTimeline(out)
	tell.title("Getting ready")
	server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: tell})
	if errors.Is(err, dynamodblocal.ErrNoRuntime) {
		tell.note("%v", err)
		tell.note("so only the storm follows, in one process, with an in-memory store and ledger;")
		tell.note("install Java 17 or start Docker to see crashes and a frozen process as well")
		return inMemory(ctx, tell)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	tell.note("DynamoDB Local runs at %s; compiling examples/payments", server.Endpoint())
	binary, err := lambdaruntime.Build(ctx, filepath.Join(root, "examples"), "./payments")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(binary))) }()
	tell.note("compiled")

	s := &stage{server: server, binary: binary}
	storm, err := s.storm(ctx, tell)
	if err != nil {
		return err
	}
	plays, err := s.limits(ctx, tell)
	if err != nil {
		return err
	}
	tell.title("Charges, counted in the ledger")
	tell.line("  %-52s %s", "", "random id  downstream key")
	for i := 0; i < len(plays); i += 2 {
		tell.line("  %-52s %9d  %14d", plays[i].name, plays[i].charges, plays[i+1].charges)
	}
	tell.line("\nThe storm of %d duplicates at once in %d environments:", requests, environments)
	tell.line("charges: %d", storm)
	return nil
}

// timeline prints events, with the time since its start.
type timeline struct {
	began time.Time
	out   io.Writer
}

func newTimeline(out io.Writer) *timeline { return &timeline{began: time.Now(), out: out} }

func (t *timeline) title(format string, args ...any) {
	t.line("\n%s\n", fmt.Sprintf(format, args...))
	t.began = time.Now()
}

func (t *timeline) note(format string, args ...any) {
	t.line("  %6.2fs  %s", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *timeline) line(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// Write prints the long steps that other packages report.
func (t *timeline) Write(p []byte) (int, error) {
	t.note("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}
