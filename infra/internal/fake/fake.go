// Package fake creates files that look like the code of a function, for tests.
package fake

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
)

// Program returns the header of a Linux program for a processor.
func Program(machine elf.Machine) []byte {
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
		panic(err) // a buffer accepts every write
	}
	return b.Bytes()
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
