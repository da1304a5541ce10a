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
	script := "#!/bin/sh\necho \"$@\" >>'" + calls + "'\n[ \"$1\" != run ] || exec sleep 600\n"
	check.Must(t, os.WriteFile(docker, []byte(script), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	l := launch(t, func(context.Context, string) error {
		if text, err := os.ReadFile(calls); err == nil && strings.Contains(string(text), "run --rm") {
			cancel()
		}
		return errors.New("nobody listens")
	})
	_, _, err := l.StartImage(ctx, docker, Image{Name: "x:1", Container: "once-x-", Args: func(string) []string { return nil }})
	if err == nil {
		t.Fatal("started nothing")
	}
	text, err := os.ReadFile(calls)
	check.Must(t, err)
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(got) != 3 || got[2] != strings.Replace(got[1], "run --rm --name", "rm --force", 1) {
		t.Errorf("docker was called as\n%s", text)
	}
}
