package release

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func reader(t *testing.T) *user {
	t.Helper()
	return &user{dir: t.TempDir(), env: os.Environ(), out: io.Discard}
}

func TestReaderOfAPageWritesItsProgramsAndRunsItsCommands(t *testing.T) {
	u := reader(t)
	const page = "before\n\n## Start\n\n```sh\nmkdir f && cd f\n```\n\n`f/main.go`. It says\nhello:\n\n```go\npackage main\n```\n\n" +
		"A fragment:\n\n```go\n\tmain()\n```\n\n```sh\ncp main.go copy.go\n```\n\n## End\n\n```sh\nfalse\n```\n"
	check.Must(t, u.follow(t.Context(), page, "\n## Start\n", "\n## End\n"))
	if text, err := os.ReadFile(filepath.Join(u.dir, "f", "copy.go")); err != nil || string(text) != "package main\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCommandOfAPageThatFailsIsAnError(t *testing.T) {
	check.Failed(t, reader(t).follow(t.Context(), "## A\n\n```sh\nfalse\ntrue\n```\n\n## B\n", "## A", "## B"))
}

func TestSectionThatIsGoneIsAnError(t *testing.T) {
	for _, page := range []string{"## B\n", "## A\n"} {
		check.Failed(t, reader(t).follow(t.Context(), page, "## A", "## B"), page)
	}
}

// The rest of the ways into the project takes minutes: make release-check.
func TestFunctionOfReadmeWorksFromAnEmptyFolder(t *testing.T) {
	check.Nil(t, Check(t.Context(), t.Output(), root, true))
}
