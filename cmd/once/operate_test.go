package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

func TestPageShowsWhatTheCommandPrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	check.Must(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Resolve a record\n")
	_, block, _ := strings.Cut(section, "\n```sh\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the section has no block")
	}
	s := newScene(t)
	s.stuck()
	dir := t.TempDir()
	check.Must(t, os.WriteFile(filepath.Join(dir, "receipt.json"), []byte(`{"id":"p-7"}`), 0o600))
	var got strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^\$ once (.*)$`).FindAllStringSubmatch(block, -1) {
		cmd := s.command(strings.Fields(line[1])...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("y\n")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		check.Nil(t, cmd.Run(), line[0])
		got.WriteString(line[0] + "\n" + strings.Replace(out.String(), "[y/N] ", "[y/N] y\n", 1))
	}
	check.Equal(t, times(got.String()), times(block), "docs/operate.md", block, got.String())
}

// A size counts the digits of the times: zeros at their end take no byte.
func times(s string) string {
	s = regexp.MustCompile(`(?m)^(size +)\d+ bytes$`).ReplaceAllString(s, "${1}SIZE")
	return regexp.MustCompile(`20\d\d-[0-9T:-]+Z( \(\d+s ago\))?`).ReplaceAllString(s, "TIME")
}
