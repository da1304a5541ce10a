package release

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	if err := u.follow(t.Context(), page, "\n## Start\n", "\n## End\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(u.dir, "f", "copy.go")); err != nil || string(text) != "package main\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCommandOfAPageThatFailsIsAnError(t *testing.T) {
	if err := reader(t).follow(t.Context(), "## A\n\n```sh\nfalse\ntrue\n```\n", "## A", ""); err == nil {
		t.Error("no error")
	}
}

func TestSectionThatIsGoneIsAnError(t *testing.T) {
	for page, until := range map[string]string{"## C\n": "", "## A\n": "## B"} {
		if err := reader(t).follow(t.Context(), page, "## A", until); err == nil {
			t.Errorf("%q: no error", page)
		}
	}
}

// The rest of the ways into the project takes minutes: make release-check.
func TestFunctionOfReadmeWorksFromAnEmptyFolder(t *testing.T) {
	if err := Check(t.Context(), t.Output(), root, true); err != nil {
		t.Error(err)
	}
}
