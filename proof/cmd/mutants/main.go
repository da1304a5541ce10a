// Command mutants applies each stored mutation of the protocol's guards to a
// copy of the tree, and fails unless the named test fails for each:
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
	if len(all) == 0 {
		return errors.New("no such mutant")
	}
	// One copy of the tree for each worker.
	dirs := make([]string, max(runtime.NumCPU()/2, 2))
	defer func() {
		for _, dir := range dirs {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for i := range dirs {
		if dirs[i], err = os.MkdirTemp("", "once-mutants"); err != nil {
			return err
		}
		if err := copyTree(ctx, dirs[i]); err != nil {
			return err
		}
	}
	if err := passUnchanged(ctx, dirs[0], all); err != nil {
		return err
	}
	if survivors := tryAll(ctx, dirs, all); survivors > 0 {
		return fmt.Errorf("%d of %d mutants survive", survivors, len(all))
	}
	fmt.Printf("mutants: %d killed, 0 survive\n", len(all))
	return nil
}

// tryAll tries all mutants, one at a time in each copy of the tree. It returns
// the number of those that survive.
func tryAll(ctx context.Context, dirs []string, all []mutants.Mutant) int {
	var (
		mu              sync.Mutex
		tried, survived int
		workers         sync.WaitGroup
	)
	next := make(chan mutants.Mutant)
	for _, dir := range dirs {
		workers.Go(func() {
			for m := range next {
				began := time.Now()
				err := try(ctx, dir, m)
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
func copyTree(ctx context.Context, dir string) error {
	list, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			return err
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// passUnchanged sees that every named test passes without its mutation.
func passUnchanged(ctx context.Context, dir string, all []mutants.Mutant) error {
	tests := map[string][]string{}
	for _, m := range all {
		if !slices.Contains(tests[m.Package], m.Test) {
			tests[m.Package] = append(tests[m.Package], m.Test)
		}
	}
	for pkg, names := range tests {
		if out, err := test(ctx, dir, pkg, strings.Join(names, "|")); err != nil {
			return fmt.Errorf("the unchanged tree fails in %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// try applies a mutant, and is nil when the named test fails for it: fails,
// not does not compile.
func try(ctx context.Context, dir string, m mutants.Mutant) (err error) {
	file, changed, err := m.Apply(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, file)
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, source, 0o644)) }()
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		return err
	}
	out, err := test(ctx, dir, m.Package, m.Test)
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

func test(ctx context.Context, dir, pkg, names string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=5m", "-vet=off", "-ldflags=-s -w", "-run", "^("+names+")$", ".")
	cmd.Dir = filepath.Join(dir, pkg) // which may be of another module
	return cmd.CombinedOutput()
}
