package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A try is one way into the project, from an empty folder.
type try struct {
	name   string
	long   bool // left out of the short form
	run    func(ctx context.Context, u *user, root string) error
	module string // its folder, or "" if it makes none
}

var tries = []try{
	{"the function of README", false, page("README.md", "\n## A complete function\n", "\n## Which one do I need?\n"), "."},
	{"the page Start", true, page("docs/start.md", "\n## 1. ", "\n## 6. "), "orders"},
	{"the operator's command", true, script(`go install github.com/lambda-once/once/cmd/once@latest
once --help`), ""},
	{"a function with PostgreSQL", true, program("examples/docs/postgres"), "."},
	{"a function with Redis", true, program("proof/release/testdata/redis"), "."},
	{"a test with crashtest and DynamoDB Local", true, program("proof/release/testdata/crashtest"), "."},
}

// Check makes each try with the modules of the tree in the folder root, and prints to
// out. The short form makes the first one alone, and packs all modules.
func Check(ctx context.Context, out io.Writer, root string, short bool) (err error) {
	t, err := Read(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "once-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	proxy := filepath.Join(dir, "proxy")
	if err := t.WriteProxy(ctx, proxy); err != nil {
		return err
	}
	var failed []error
	for _, try := range tries {
		if short && try.long {
			continue
		}
		fmt.Fprintf(out, "\n== %s\n", try.name)
		u, err := newUser(ctx, dir, proxy, out)
		if err != nil {
			return err
		}
		if err := try.run(ctx, u, root); err != nil {
			return fmt.Errorf("%s: %w", try.name, err)
		}
		if try.module == "" {
			continue
		}
		modules, err := u.modules(ctx, try.module)
		if err == nil {
			err = compare(root, try.name, modules)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", try.name, err))
		}
	}
	return errors.Join(failed...)
}

// page follows a part of a page.
func page(name, from, until string) func(context.Context, *user, string) error {
	return func(ctx context.Context, u *user, root string) error {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		return u.follow(ctx, string(text), from, until)
	}
}

func script(text string) func(context.Context, *user, string) error {
	return func(ctx context.Context, u *user, _ string) error { return u.run(ctx, text) }
}

// program copies a folder, and builds and tests it as a module of its own.
func program(folder string) func(context.Context, *user, string) error {
	return func(ctx context.Context, u *user, root string) error {
		if err := os.CopyFS(u.dir, os.DirFS(filepath.Join(root, filepath.FromSlash(folder)))); err != nil {
			return err
		}
		return u.run(ctx, `go mod init example.com/user
go mod tidy
go vet ./...
go test ./...`)
	}
}

// Tidy runs "go mod tidy" in each module, with the proxy on disk in place of go.work,
// which that command ignores.
func (t *Tree) Tidy(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "once-tidy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	proxy := filepath.Join(dir, "proxy")
	if err := t.WriteProxy(ctx, proxy); err != nil {
		return err
	}
	u, err := newUser(ctx, dir, proxy, out)
	if err != nil {
		return err
	}
	for _, m := range t.modules {
		folder := filepath.Join(t.root, filepath.FromSlash(m.dir))
		command := exec.CommandContext(ctx, "go", "-C", folder, "mod", "tidy")
		command.Env, command.Stdout, command.Stderr = u.env, out, out
		if err := command.Run(); err != nil {
			return fmt.Errorf("%s: go mod tidy: %w", m.path, err)
		}
		if err := t.forget(filepath.Join(folder, "go.sum")); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the checksums of the tree's own modules, which change with each commit.
func (t *Tree) forget(sums string) error {
	text, err := os.ReadFile(sums)
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool {
		path, _, _ := strings.Cut(line, " ")
		return t.has(path)
	})
	return os.WriteFile(sums, []byte(strings.Join(lines, "")), 0o644)
}
