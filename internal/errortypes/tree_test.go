package errortypes

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// A line of the log has the text of errors that say which of it is safe, and the Go
// type of all others. An error of ours that says nothing would lose its advice there.
func TestEveryErrorTypeSaysWhichTextMayBeLogged(t *testing.T) {
	const root = "../.."
	// What no call of a function returns: the tools, and the deployment.
	elsewhere := map[string]bool{"handlers/internal/handlertest": true, "internal/wire": true, "local": true, "examples": true, "infra": true, "cmd": true, "proof": true, "redis/redislocal": true}
	types := 0
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		if base := entry.Name(); elsewhere[filepath.ToSlash(name)] || base == "testdata" || dir != root && strings.HasPrefix(base, ".") {
			return fs.SkipDir
		}
		p, err := Parse(dir)
		if err != nil {
			return nil // no package
		}
		types += len(p.Types())
		for _, missing := range p.Unsafe() {
			t.Errorf("%s.%s has no method SafeText", name, missing)
		}
		return nil
	})
	check.Must(t, err)
	check.True(t, types >= 50, types)
}
