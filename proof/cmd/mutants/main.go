// Command mutants builds the tree without each of the protocol's guards, as the stored
// mutations say, and fails unless the named test fails for each:
//
//	go -C proof run ./cmd/mutants [name …]
//
// It is run in the folder proof. Tests of the DynamoDB store find their server
// as they always do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/mutants"
)

// root is the folder of the repository.
const root = ".."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) (err error) {
	all, err := mutants.Every(root)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(names, m.Name) })
	}
	if len(all) < max(len(names), 1) {
		return fmt.Errorf("%d of the mutants %v exist", len(all), names)
	}
	dir, err := os.MkdirTemp("", "once-mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// A copy of the tree for each worker: an edit during the run could fail a test in place
	// of the mutation. No overlay: some tests read the source.
	trees := make([]string, max(runtime.NumCPU()/2, 2))
	for i := range trees {
		trees[i] = filepath.Join(dir, strconv.Itoa(i))
		if err := copyTree(ctx, trees[i]); err != nil {
			return err
		}
	}
	if err := passUnchanged(ctx, trees[0], all); err != nil {
		return err
	}
	if survivors := tryAll(ctx, trees, all); survivors > 0 {
		return fmt.Errorf("%d of %d mutants survive", survivors, len(all))
	}
	fmt.Printf("mutants: %d killed, 0 survive\n", len(all))
	return nil
}

// tryAll tries all mutants, one at a time in each tree. It returns the number of those that
// survive.
func tryAll(ctx context.Context, trees []string, all []mutants.Mutant) int {
	var (
		mu              sync.Mutex
		tried, survived int
		workers         sync.WaitGroup
	)
	next := make(chan mutants.Mutant)
	for _, tree := range trees {
		workers.Go(func() {
			for m := range next {
				began := time.Now()
				err := try(ctx, tree, m)
				mu.Lock()
				tried++
				verdict := "killed by " + m.Test
				if err != nil {
					survived++
					verdict = "NOT KILLED: " + err.Error()
				}
				fmt.Printf("%3d/%d %-34s %5.1fs  %s\n", tried, len(all), m.Name, time.Since(began).Seconds(), verdict)
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	workers.Wait()
	return survived
}

// copyTree copies the files that git knows of, with changes that are not committed.
func copyTree(ctx context.Context, tree string) error {
	list, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed
		}
		text, errRead := os.ReadFile(filepath.Join(root, file))
		if err := errors.Join(err, errRead, os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o755)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tree, file), text, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// passUnchanged sees that every named test passes without its mutation.
func passUnchanged(ctx context.Context, tree string, all []mutants.Mutant) error {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.Package], m.Test) {
			tests[m.Package] = append(tests[m.Package], m.Test)
		}
	}
	for pkg, names := range tests {
		if out, err := test(ctx, tree, pkg, strings.Join(names, "|")); err != nil {
			return fmt.Errorf("the unchanged tree fails in %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// try writes a mutant into a tree, and restores the file. It is nil when the named test fails for
// the mutant: fails, not does not compile.
func try(ctx context.Context, tree string, m mutants.Mutant) (err error) {
	name, changed, err := m.Apply(tree)
	if err != nil {
		return err
	}
	file := filepath.Join(tree, name)
	original, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, original, 0o644)) }()
	out, err := test(ctx, tree, m.Package, m.Test)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return fmt.Errorf("%s passes", m.Test)
	case !regexp.MustCompile(`(?m)^\s*--- FAIL: ` + regexp.QuoteMeta(m.Test) + `\b`).Match(out):
		return fmt.Errorf("%s did not fail by itself:\n%s", m.Test, out)
	}
	return nil
}

// test runs tests of a package.
func test(ctx context.Context, tree, pkg, names string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=5m", "-vet=off", "-ldflags=-s -w", "-run", "^("+names+")$", ".")
	cmd.Dir = filepath.Join(tree, pkg) // which may be of another module
	return cmd.CombinedOutput()
}
