package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A user has an empty folder, an empty module cache, and the go command, which finds the
// modules of the tree in a proxy on disk only.
type user struct {
	dir string
	env []string
	out io.Writer
}

// newUser makes a user with a folder of its own below dir. Other modules come from the
// module cache of this machine, or else from its proxy. Compiled without cgo and paths, they
// are those that lambdaruntime.Build compiles for all other tests.
func newUser(ctx context.Context, dir, proxy string, out io.Writer) (*user, error) {
	env, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cache, upstream, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	work, err := os.MkdirTemp(dir, "user-")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "bin")
	return &user{work, append(os.Environ(),
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-modcacherw -trimpath", "GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download"))+","+upstream,
		"GONOSUMDB=github.com/lambda-once/*", "GOBIN="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
	), out}, nil
}

// run runs a script, which stops at the first command that fails.
func (u *user) run(ctx context.Context, script string) error {
	fmt.Fprintln(u.out, "$ "+strings.ReplaceAll(strings.TrimSpace(script), "\n", "\n$ "))
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env, command.Stdout, command.Stderr = u.dir, u.env, u.out, u.out
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	return nil
}

// follow obeys a page: it writes each program under the name before it, and
// runs each command, up to the section until.
func (u *user) follow(ctx context.Context, page, from, until string) error {
	_, page, found := strings.Cut(page, from)
	if !found {
		return errors.New("the page has no section " + from)
	}
	if page, _, found = strings.Cut(page, until); !found {
		return errors.New("the page has no section " + until)
	}
	parts := strings.Split("\n"+page, "\n```")
	var script strings.Builder // with the changes of folder before
	for i := 1; i < len(parts); i += 2 {
		language, block, _ := strings.Cut(parts[i], "\n")
		switch language {
		case "go":
			name, ok := fileName(parts[i-1])
			if !ok || !strings.HasPrefix(block, "package ") {
				continue // a fragment
			}
			if err := os.WriteFile(filepath.Join(u.dir, filepath.FromSlash(name)), []byte(block+"\n"), 0o644); err != nil {
				return err
			}
		case "sh":
			if err := u.run(ctx, script.String()+block); err != nil {
				return err
			}
			for line := range strings.Lines(block + "\n") {
				if _, folder, ok := strings.Cut(line, "cd "); ok {
					script.WriteString("cd " + folder)
				}
			}
		}
	}
	return nil
}

// fileName returns the name of the next program in the last paragraph of a text: its
// first code that ends with .go.
func fileName(text string) (string, bool) {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for n, code := range strings.Split(paragraphs[len(paragraphs)-1], "`") {
		if n%2 == 1 && strings.HasSuffix(code, ".go") {
			return code, true
		}
	}
	return "", false
}
