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
	dir, err := os.MkdirTemp("", "once-mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// A copy: an edit during the run could fail a test in place of the mutation.
	tree := filepath.Join(dir, "tree")
	if err := copyTree(ctx, tree); err != nil {
		return err
	}
	if err := passUnchanged(ctx, tree, all); err != nil {
		return err
	}
	if survivors := tryAll(ctx, dir, tree, all); survivors > 0 {
		return fmt.Errorf("%d of %d mutants survive", survivors, len(all))
	}
	fmt.Printf("mutants: %d killed, 0 survive\n", len(all))
	return nil
}

// tryAll tries all mutants, some at a time. It returns the number of those that survive.
func tryAll(ctx context.Context, dir, tree string, all []mutants.Mutant) int {
	var (
		mu              sync.Mutex
		tried, survived int
		workers         sync.WaitGroup
	)
	next := make(chan mutants.Mutant)
	for range max(runtime.NumCPU()/2, 2) {
		workers.Go(func() {
			for m := range next {
				began := time.Now()
				err := try(ctx, dir, tree, m)
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
		if out, err := test(ctx, tree, "", pkg, strings.Join(names, "|")); err != nil {
			return fmt.Errorf("the unchanged tree fails in %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// try builds a mutant by an overlay of the file that it changes, which it writes into dir.
// It is nil when the named test fails for it: fails, not does not compile.
func try(ctx context.Context, dir, tree string, m mutants.Mutant) error {
	file, changed, err := m.Apply(tree)
	if err != nil {
		return err
	}
	replacement, overlay := filepath.Join(dir, m.Name+filepath.Ext(file)), filepath.Join(dir, m.Name+".json")
	replaces := fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(tree, file), replacement)
	if err := errors.Join(os.WriteFile(replacement, changed, 0o644), os.WriteFile(overlay, replaces, 0o644)); err != nil {
		return err
	}
	out, err := test(ctx, tree, overlay, m.Package, m.Test)
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

// test runs tests of a package. The overlay is also that of the programs that they build.
func test(ctx context.Context, tree, overlay, pkg, names string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=5m", "-vet=off", "-ldflags=-s -w", "-run", "^("+names+")$", ".")
	cmd.Dir = filepath.Join(tree, pkg) // which may be of another module
	if overlay != "" {
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	return cmd.CombinedOutput()
}
