package docs_test

import (
	"regexp"
	"slices"
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
	tree := files(t)
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		exists := slices.ContainsFunc(tree, func(path string) bool { return strings.HasSuffix("/"+path, "/"+m[1]) })
		check.True(t, exists, "CONTRIBUTING.md names a file that exists:", m[1])
	}
}
