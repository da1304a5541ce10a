// Package bootstrap checks the code of a function before it is deployed.
package bootstrap

import (
	"archive/zip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Check returns an error for code that Lambda could not start at the first
// invocation. The code is a zip or a folder.
func Check(code string) error {
	info, err := os.Stat(code)
	switch {
	case err != nil:
		return fmt.Errorf("build the function first: %w", err)
	case info.IsDir():
		return inFolder(code)
	case strings.ToLower(filepath.Ext(code)) != ".zip":
		return fmt.Errorf("%s is neither a folder nor named .zip", code)
	}
	return inZip(code)
}

func inFolder(folder string) error {
	file, err := os.Open(filepath.Join(folder, "bootstrap"))
	if errors.Is(err, fs.ErrNotExist) {
		return noBootstrap(folder)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return starts(folder, info.Mode(), file)
}

func inZip(name string) error {
	z, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("%s is not a zip: %w", name, err)
	}
	defer z.Close()
	for _, entry := range z.File {
		if path.Clean(entry.Name) != "bootstrap" {
			continue
		}
		program, err := entry.Open()
		if err != nil {
			return fmt.Errorf("%s: bootstrap: %w", name, err)
		}
		defer program.Close()
		return starts(name, entry.Mode(), program)
	}
	return noBootstrap(name)
}

func noBootstrap(where string) error {
	return fmt.Errorf("%s has no file bootstrap at its top level", where)
}

// starts returns an error if Lambda cannot start a bootstrap. It accepts every
// script.
func starts(where string, mode fs.FileMode, program io.Reader) error {
	if !mode.IsRegular() {
		return fmt.Errorf("bootstrap in %s is not a file", where)
	}
	if mode&0o100 == 0 {
		return fmt.Errorf("bootstrap in %s is not executable; local/cmd/lambdazip makes a zip in which it is", where)
	}
	head := make([]byte, elf.EI_NIDENT+4) // to the type and the processor
	n, err := io.ReadFull(program, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("bootstrap in %s: %w", where, err)
	}
	if strings.HasPrefix(string(head), "#!") {
		return nil
	}
	const build = "build it with GOOS=linux GOARCH=arm64"
	if n < len(head) || !strings.HasPrefix(string(head), elf.ELFMAG) {
		return fmt.Errorf("bootstrap in %s is not a Linux program; %s", where, build)
	}
	kind := elf.Type(binary.LittleEndian.Uint16(head[elf.EI_NIDENT:]))
	processor := elf.Machine(binary.LittleEndian.Uint16(head[elf.EI_NIDENT+2:]))
	switch {
	case processor != elf.EM_AARCH64 || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64:
		return fmt.Errorf("bootstrap in %s is not a program for arm64 (%v); %s", where, processor, build)
	case kind != elf.ET_EXEC && kind != elf.ET_DYN:
		return fmt.Errorf("bootstrap in %s is an object (%v), not a program", where, kind)
	}
	return nil
}
