package check

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Golden fails the test unless got is the section of this name in a golden file, which
// follows a line "== name ==". With update, it writes the section first.
func Golden(t testing.TB, file, name, got string, update bool) {
	t.Helper()
	old, err := os.ReadFile(file)
	if !update || !errors.Is(err, fs.ErrNotExist) {
		Must(t, err)
	}
	all := map[string]string{}
	headings := heading.FindAllSubmatchIndex(old, -1)
	for i, h := range headings {
		end := len(old)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		all[string(old[h[2]:h[3]])] = string(old[h[1]:end])
	}
	if update {
		all[name] = got
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text.WriteString("== " + name + " ==\n" + all[name])
		}
		Must(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	want, ok := all[name]
	if !ok || got != want {
		t.Errorf("%s: %s: got\n%s\nwant\n%s", file, name, got, want)
	}
}

var heading = regexp.MustCompile(`(?m)^== (.+) ==\n`)
