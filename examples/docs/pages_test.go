// Package docs_test tests README.md, CONTRIBUTING.md, SECURITY.md and the pages of
// docs/, and holds the code that they quote.
//
// Each page has a file of tests here, named after it: the code of
// docs/http.md is in http_test.go. A block of Go in a page is a copy of
// compiled code anywhere in this repository. A block that begins with a
// package clause is a copy of a whole file. The tests also follow every link,
// and look up every name of an exported identifier.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// root is the repository.
const root = "../.."

// A page is a file of Markdown, split into its fenced blocks and the rest.
type page struct {
	path   string // from the root, with slashes
	text   string
	prose  []string // its lines; those of blocks are empty
	blocks []block
}

// A block is the text between two fences.
type block struct {
	language string
	line     int // of the opening fence
	lines    []string
}

// languages are those that blocks may have. A block of Go with a different one
// would escape the test that it compiles.
var languages = []string{"go", "hcl", "json", "mermaid", "python", "sh", "text", "ts", "yaml"}

// pages returns README.md, all pages at the root, and those of docs/.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md"}
	for _, pattern := range []string{"CONTRIBUTING.md", "SECURITY.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		check.Must(t, err)
		for _, path := range found {
			path, err := filepath.Rel(root, path)
			check.Must(t, err)
			paths = append(paths, filepath.ToSlash(path))
		}
	}
	var all []page
	for _, path := range paths {
		p, err := parsePage(path, read(t, path))
		check.Nil(t, err)
		all = append(all, p)
	}
	return all
}

// parsePage finds the blocks of a page. It refuses different spellings of a fence,
// which a test of the blocks would miss.
func parsePage(path, text string) (page, error) {
	p := page{path: path, text: text}
	open := false
	for i, line := range strings.Split(text, "\n") {
		fence := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(fence, "~~~") || strings.HasPrefix(fence, "````"):
			return p, fmt.Errorf("%s:%d: fence a block with ```", path, i+1)
		case !open && strings.HasPrefix(fence, "```"):
			b := block{language: fence[3:], line: i + 1}
			if !slices.Contains(languages, b.language) {
				return p, fmt.Errorf("%s:%d: a block of language %q, want one of %q", path, i+1, b.language, languages)
			}
			if fence != line {
				return p, fmt.Errorf("%s:%d: the fence is indented", path, i+1)
			}
			p.blocks, open = append(p.blocks, b), true
			line = ""
		case open && fence == "```":
			open, line = false, ""
		case open:
			b := &p.blocks[len(p.blocks)-1]
			b.lines = append(b.lines, line)
			line = ""
		}
		p.prose = append(p.prose, line)
	}
	if open {
		return p, fmt.Errorf("%s:%d: the block does not end", path, p.blocks[len(p.blocks)-1].line)
	}
	return p, nil
}

// files returns the paths, from the root and with slashes, of the repository's files, but
// for those that are built, installed or hidden.
func files(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case !entry.IsDir():
			file, err = filepath.Rel(root, file)
			paths = append(paths, filepath.ToSlash(file))
		case file != root && (slices.Contains([]string{"bin", "build", "node_modules"}, name) || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		}
		return err
	})
	check.Must(t, err)
	return paths
}

// read returns the text of a file, whose path is from the root.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	check.Must(t, err)
	return string(text)
}

// README is read in one sitting, and a page of docs has one purpose. The generated tables
// and the measured figures are looked up, and not read.
func TestPagesAreShort(t *testing.T) {
	lookedUp := []string{"docs/errors.md", "docs/performance.md", "docs/reference.md", "docs/reference-infra.md"}
	total := 0
	for _, p := range pages(t) {
		most := 2750
		switch p.path {
		case "README.md":
			most = 1500
		case "CONTRIBUTING.md":
			most = 3000
		case "docs/deploy.md", "docs/operate.md", "docs/reference.md":
			most = 3750
		}
		words := len(strings.Fields(p.text))
		check.True(t, words <= most, p.path, "has", words, "words, want at most", most)
		if strings.HasPrefix(p.path, "docs/") && !slices.Contains(lookedUp, p.path) || p.path == "README.md" {
			total += words
		}
	}
	check.True(t, total <= 43_000, "README and the pages that are read have", total, "words, want at most 43,000")
}

func TestParsePageRefusesBlocksThatTestsWouldMiss(t *testing.T) {
	for _, text := range []string{"```golang\n```", "```\n```", "~~~go\n~~~", "````go\n````", "- x\n  ```go\n  ```", "```go\nx"} {
		_, err := parsePage("p", text)
		check.Failed(t, err, text)
	}
}
