package crew

import (
	"context"
	"os/exec"
	"strings"
)

// nodeVersion returns what node --version prints.
func nodeVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	return strings.TrimSpace(string(out)), err
}
