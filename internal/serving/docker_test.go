package serving

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestAContainerThatDoesNotAnswerIsRemoved(t *testing.T) {
	dir := t.TempDir()
	docker, calls := filepath.Join(dir, "docker"), filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >>'" + calls + "'\n[ \"$1\" != run ] || exec /bin/sleep 600\n"
	check.Must(t, os.WriteFile(docker, []byte(script), 0o755))
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Kind{
		Package: "xlocal", Name: "x", URL: "%s", Image: "x:1",
		Answers: func(context.Context, string) error {
			if text, err := os.ReadFile(calls); err == nil && strings.Contains(string(text), "run --rm") {
				cancel()
			}
			return errors.New("nobody listens")
		},
		Find:   func(context.Context, Options) (Program, error) { return Program{}, errors.New("not found") },
		Docker: func(string) []string { return nil },
	}.Start(ctx, &Options{CacheDir: dir})
	check.Says(t, err, "nobody listens")
	text, err := os.ReadFile(calls)
	check.Must(t, err)
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(got) != 4 || got[3] != strings.Replace(got[2], "run --rm --name", "rm --force", 1) {
		t.Errorf("docker was called as\n%s", text)
	}
}
