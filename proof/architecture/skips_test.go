package architecture

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// A test that is skipped otherwise is silent: package notrun says it at the end of make test.
func TestOnlyShortRunsSkipInSilence(t *testing.T) {
	files, err := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "--untracked", "-nE", "-B1", `\bt\.Skip(f|Now)?\(`, "--", "*_test.go").Output()
	check.Must(t, err)
	lines := strings.Split(string(files), "\n")
	for i, line := range lines {
		if !strings.Contains(line, "t.Skip") || strings.HasPrefix(line, "proof/architecture/") {
			continue
		}
		if before := lines[i-1]; !strings.Contains(before, "testing.Short()") && !strings.Contains(before, "notrun.Say(t") {
			t.Error(line)
		}
	}
}
