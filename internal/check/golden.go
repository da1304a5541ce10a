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

// Golden fails the test unless got is the section of this name in a golden file. With
// update, it writes the section first.
func Golden(t testing.TB, file, name, got string, update bool) {
	t.Helper()
	all := map[string]string{}
	if _, err := os.Stat(file); !update || !errors.Is(err, fs.ErrNotExist) {
		all = Sections(t, file)
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

// Sections returns the sections of a golden file by their names. Each follows a line
// "== name ==".
func Sections(t testing.TB, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	Must(t, err)
	all := map[string]string{}
	headings := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, h := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		all[string(text[h[2]:h[3]])] = string(text[h[1]:end])
	}
	return all
}
