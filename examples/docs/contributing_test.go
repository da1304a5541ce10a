package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// Every command of the Makefile is in CONTRIBUTING.md.
func TestCONTRIBUTINGNamesEveryCommand(t *testing.T) {
	page := read(t, "CONTRIBUTING.md")
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if targets == nil {
		t.Fatal("no targets")
	}
	for _, target := range strings.Fields(targets[1]) {
		check.True(t, strings.Contains(page, "`make "+target+"`"), "CONTRIBUTING.md names make", target)
	}
}

// A file that was renamed or joined to a second one leaves a wrong direction behind.
func TestCONTRIBUTINGNamesFilesThatExist(t *testing.T) {
	tree := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			path, err = filepath.Rel(root, path)
			tree["/"+filepath.ToSlash(path)] = true
		}
		return err
	})
	check.Must(t, err)
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		exists := false
		for path := range tree {
			exists = exists || strings.HasSuffix(path, "/"+m[1])
		}
		check.True(t, exists, "CONTRIBUTING.md names a file that exists:", m[1])
	}
}
