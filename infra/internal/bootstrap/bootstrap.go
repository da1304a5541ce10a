// Package bootstrap checks the code of a function before it is deployed.
package bootstrap

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Check returns an error for code that Lambda could not start at the first
// invocation. The code is a zip or a folder, for arm64 or x86_64.
func Check(code, architecture string) error {
	info, err := os.Stat(code)
	switch {
	case err != nil:
		return fmt.Errorf("build the function first: %w", err)
	case info.IsDir():
		return starts(code, os.DirFS(code), architecture)
	case strings.ToLower(filepath.Ext(code)) != ".zip":
		return fmt.Errorf("%s is neither a folder nor named .zip", code)
	}
	z, err := zip.OpenReader(code)
	if err != nil {
		return fmt.Errorf("%s is not a zip: %w", code, err)
	}
	defer z.Close()
	// As files of z, /bootstrap and ../bootstrap would be at the top level.
	z.File = slices.DeleteFunc(z.File, func(f *zip.File) bool { return path.Clean(f.Name) != "bootstrap" })
	return starts(code, z, architecture)
}

// starts returns an error if Lambda cannot start the bootstrap of a folder or a zip. It
// accepts every script.
func starts(where string, files fs.FS, architecture string) error {
	info, err := fs.Stat(files, "bootstrap")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s has no file bootstrap at its top level", where)
	case err != nil:
		return err
	case info.Mode()&0o100 == 0:
		return fmt.Errorf("bootstrap in %s is not executable; local/cmd/lambdazip makes a zip in which it is", where)
	}
	text, err := fs.ReadFile(files, "bootstrap")
	if err != nil {
		return fmt.Errorf("bootstrap in %s: %w", where, err)
	}
	if bytes.HasPrefix(text, []byte("#!")) {
		return nil
	}
	machine, build := elf.EM_AARCH64, "build it with GOOS=linux GOARCH=arm64"
	if architecture == "x86_64" {
		machine, build = elf.EM_X86_64, "build it with GOOS=linux GOARCH=amd64"
	}
	program, err := elf.NewFile(bytes.NewReader(text))
	switch {
	case err != nil:
		return fmt.Errorf("bootstrap in %s is not a Linux program; %s", where, build)
	case program.Machine != machine:
		return fmt.Errorf("bootstrap in %s is not a program for %s (%v); %s", where, architecture, program.Machine, build)
	}
	return nil
}
