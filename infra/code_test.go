package infra

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

// What Lambda cannot start is found before it is deployed.
func TestCodeThatCannotStartIsRefused(t *testing.T) {
	arm := fake.Program(elf.EM_AARCH64)
	for name, c := range map[string]struct {
		file  string // of the zip or, without one, of the folder
		entry string
		mode  os.FileMode
		text  []byte
		words string
	}{
		"a zip":                     {"f.zip", "bootstrap", 0o755, arm, ""},
		"a zip of a tool":           {"f.zip", "./bootstrap", 0o755, arm, ""},
		"a zip with a script":       {"f.zip", "bootstrap", 0o755, []byte("#!/bin/sh\n"), ""},
		"a folder":                  {"", "bootstrap", 0o755, arm, ""},
		"a folder without one":      {"", "main", 0o755, arm, "has no file bootstrap"},
		"a zip without one":         {"f.zip", "main", 0o755, arm, "has no file bootstrap"},
		"a zip of the folder":       {"f.zip", "orders/bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip of the root":         {"f.zip", "/bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip from elsewhere":      {"f.zip", "../bootstrap", 0o755, arm, "has no file bootstrap"},
		"a zip for amd64":           {"f.zip", "bootstrap", 0o755, fake.Program(elf.EM_X86_64), "not a program for arm64 (EM_X86_64); build it with GOOS=linux GOARCH=arm64"},
		"a folder for amd64":        {"", "bootstrap", 0o755, fake.Program(elf.EM_X86_64), "not a program for arm64 (EM_X86_64)"},
		"a program of macOS":        {"f.zip", "bootstrap", 0o755, []byte("\xcf\xfa\xed\xfe\x0c\x00\x00\x01\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"), "not a Linux program"},
		"an empty bootstrap":        {"f.zip", "bootstrap", 0o755, nil, "not a Linux program"},
		"a short bootstrap":         {"", "bootstrap", 0o755, []byte("\x7fELF"), "not a Linux program"},
		"a zip, not executable":     {"f.zip", "bootstrap", 0o644, arm, "is not executable"},
		"a folder, not executable":  {"", "bootstrap", 0o644, arm, "is not executable"},
		"the program alone":         {"bootstrap", "", 0o755, arm, "neither a folder nor named .zip"},
		"a text that is named .zip": {"f.zip", "", 0o644, []byte("zip"), "is not a zip"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			code := filepath.Join(folder, c.file)
			var err error
			switch {
			case c.file == "":
				err = os.WriteFile(filepath.Join(folder, c.entry), c.text, c.mode)
			case c.entry == "":
				err = os.WriteFile(code, c.text, c.mode)
			default:
				err = fake.WriteZip(code, c.entry, c.mode, c.text)
			}
			check.Must(t, err)
			wantRefusal(t, c.words, func() {
				newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Code = code })
			})
		})
	}
}
