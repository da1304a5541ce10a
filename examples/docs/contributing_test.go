package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// Every command of the Makefile is in CONTRIBUTING.md.
func TestCONTRIBUTINGNamesEveryCommand(t *testing.T) {
	page := read(t, "CONTRIBUTING.md")
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if targets == nil {
		t.Fatal("no targets")
	}
	for _, target := range strings.Fields(targets[1]) {
		if !strings.Contains(page, "`make "+target+"`") {
			t.Errorf("CONTRIBUTING.md has no make %s", target)
		}
	}
}
