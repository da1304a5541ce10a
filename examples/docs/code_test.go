package docs_test

import (
	"errors"
	"go/build"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// Every block of Go in a page is compiled code. A block that begins with a
// package clause is a whole file, but for the comment above that clause. The
// paragraphs of any other block stand in one file, in the same order: an empty
// line is where a block may leave out code.
func TestEveryBlockOfGoCompiles(t *testing.T) {
	files := compiled(t)
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" {
				continue
			}
			n++
			if !slices.ContainsFunc(files, func(f []string) bool { return quotes(b.lines, f) }) {
				t.Errorf("%s:%d: no compiled file has this block:\n%s", p.path, b.line, strings.Join(b.lines, "\n"))
			}
		}
	}
	check.True(t, n >= 20, n, "blocks of Go: does the test find them?")
}

// packages returns every package that go vet ./... compiles in some module of the
// repository, with its folder from the root.
func packages(t *testing.T) (all []*build.Package) {
	t.Helper()
	seen := map[string]bool{}
	for _, file := range files(t) {
		dir := path.Dir(file)
		if seen[dir] || path.Ext(file) != ".go" || strings.Contains("/"+dir+"/", "/testdata/") {
			continue
		}
		seen[dir] = true
		p, err := build.ImportDir(filepath.Join(root, dir), 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			continue
		}
		check.Must(t, err)
		p.Dir = dir
		all = append(all, p)
	}
	return all
}

// compiled returns the lines of every file of these packages.
func compiled(t *testing.T) (files [][]string) {
	t.Helper()
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files = append(files, strings.Split(strings.TrimRight(read(t, filepath.Join(p.Dir, name)), "\n"), "\n"))
		}
	}
	return files
}

// quotes reports whether the block is a copy of the file, or of parts of it.
func quotes(block, file []string) bool {
	if len(block) > 0 && strings.HasPrefix(block[0], "package ") {
		clause := slices.Index(file, block[0])
		return clause >= 0 && slices.Equal(block, file[clause:])
	}
	parts := paragraphs(block)
	for _, part := range parts {
		at := index(file, part)
		if at < 0 {
			return false
		}
		file = file[at+len(part):]
	}
	return len(parts) > 0
}

// paragraphs splits lines where lines are empty.
func paragraphs(lines []string) [][]string {
	var parts [][]string
	for len(lines) > 0 {
		n := slices.Index(lines, "")
		if n < 0 {
			n = len(lines)
		}
		if n > 0 {
			parts = append(parts, lines[:n])
		}
		lines = lines[min(n+1, len(lines)):]
	}
	return parts
}

// index returns where part stands in file, with any indentation, or -1.
func index(file, part []string) int {
	want := unindent(part)
	for i := 0; i+len(part) <= len(file); i++ {
		if strings.TrimLeft(file[i], "\t") == strings.TrimLeft(part[0], "\t") && slices.Equal(unindent(file[i:i+len(part)]), want) {
			return i
		}
	}
	return -1
}

// unindent removes the tabs that all lines begin with.
func unindent(lines []string) []string {
	tabs := -1
	for _, line := range lines {
		if n := len(line) - len(strings.TrimLeft(line, "\t")); tabs < 0 || n < tabs {
			tabs = n
		}
	}
	var out []string
	for _, line := range lines {
		out = append(out, line[tabs:])
	}
	return out
}

func TestQuotes(t *testing.T) {
	file := []string{"// Package p is p.", "package p", "", "func f() {", "\ta()", "\tif b {", "\t\tc()", "\t}", "}"}
	for text, want := range map[string]bool{
		strings.Join(file, "\n"):     true,
		"package p":                  false, // not the whole file
		"a()\nif b {\n\tc()\n}":      true,
		"\ta()\n\tif b {":            true,
		"a()\n\n\tc()":               true,  // an omission
		"c()\n\na()":                 false, // not in this order
		"a()\n\na()":                 false, // once in the file
		"a()\nif b {\nc()\n}":        false, // indented otherwise
		"a()\nc()":                   false, // an omission without an empty line
		"a() // as in README":        false,
		"if b {\n\tc()\n}\n}":        false,
		"func f() {\n\ta()\n\n\td()": false,
		"":                           false,
	} {
		check.Equal(t, quotes(strings.Split(text, "\n"), file), want, text)
	}
}
