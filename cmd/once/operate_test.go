package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPageShowsWhatTheCommandPrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Settle a record\n")
	_, block, _ := strings.Cut(section, "\n```sh\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the section has no block")
	}
	s := newScene(t)
	s.stuck()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "receipt.json"), []byte(`{"id":"p-7"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^\$ once (.*)$`).FindAllStringSubmatch(block, -1) {
		cmd := s.command(strings.Fields(line[1])...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("y\n")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", line[0], err)
		}
		got.WriteString(line[0] + "\n" + strings.Replace(out.String(), "[y/N] ", "[y/N] y\n", 1))
	}
	if times(got.String()) != times(block) {
		t.Errorf("docs/operate.md shows\n%s\nit says\n%s", block, got.String())
	}
}

func times(s string) string {
	return regexp.MustCompile(`20\d\d-[0-9T:-]+Z`).ReplaceAllString(s, "TIME")
}
