// Package fake creates files that look like the code of a function, for tests.
package fake

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"errors"
	"os"
)

// Program returns the header of a Linux program for a processor, in 64 bits and little-endian.
func Program(machine elf.Machine) []byte {
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[18], header[20] = byte(elf.ET_EXEC), byte(machine), byte(elf.EV_CURRENT)
	return header
}

// WriteZip writes a zip with one file to a path.
func WriteZip(path, name string, mode os.FileMode, text []byte) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(mode)
	entry, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = entry.Write(text)
	return errors.Join(err, z.Close(), os.WriteFile(path, b.Bytes(), 0o644))
}

// WriteFunction writes the zip of a function for arm64.
func WriteFunction(path string) error {
	return WriteZip(path, "bootstrap", 0o755, Program(elf.EM_AARCH64))
}
