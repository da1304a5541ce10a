package errortypes

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func shop(t *testing.T) *Package {
	t.Helper()
	p, err := Parse("testdata/shop")
	check.Must(t, err)
	return p
}

func TestBareErrorsAreFound(t *testing.T) {
	want := []string{"CasedAndMade", "Formatted", "Hidden", "HiddenSentinel", "Joined", "Made", "Sentinel", "store.get"}
	check.Slice(t, slices.Sorted(maps.Keys(shop(t).Bare())), want)
	check.Slice(t, shop(t).Types(), []string{"SoldOutError"})
}

func TestErrorsWithoutASafeTextAreFound(t *testing.T) {
	check.Slice(t, shop(t).Unsafe(), []string{"SoldOutError"})
}

// A reason for a function that is gone would hide a later one with its name.
func TestEveryBareErrorNeedsAReason(t *testing.T) {
	reasons := map[string]string{"[FHJS]*": "wrapped", "HiddenSentinel": "wrapped", "store.*": "wrapped", "Made": "", "Gone": "wrapped"}
	got := strings.Join(shop(t).Unexplained(reasons), "\n")
	for _, want := range []string{"CasedAndMade makes an error without", "Gone makes no such error", "Made makes an error without", "Made makes no such error"} {
		check.Contains(t, got, want)
	}
	check.Equal(t, strings.Count(got, "\n")+1, 4)
}

func TestNoPackage(t *testing.T) {
	for _, dir := range []string{"testdata", "testdata/none"} {
		_, err := Parse(dir)
		check.Failed(t, err, "is a package", dir)
	}
}

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
