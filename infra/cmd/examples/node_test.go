package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// jsii no longer supports Node 20.
func TestTextsAskForASupportedNode(t *testing.T) {
	const oldest = 22
	root := "../../.."
	files, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	check.Must(t, err)
	for _, file := range []string{"README.md", "CONTRIBUTING.md", "Makefile", "infra/doc.go"} {
		files = append(files, filepath.Join(root, file))
	}
	said := 0
	for _, file := range files {
		for _, m := range regexp.MustCompile(`Node (\d+)( or later)?`).FindAllStringSubmatch(read(t, file), -1) {
			if version, err := strconv.Atoi(m[1]); err != nil || version < oldest || m[2] == "" {
				t.Errorf("%s says %q, want %d or later", file, m[0], oldest)
			}
			said++
		}
	}
	if said == 0 {
		t.Error("no text says which Node it needs")
	}
}
