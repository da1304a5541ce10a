package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// zipped is the zip of a program that was written at a time, with a mode.
func zipped(t *testing.T, program string, at time.Time, mode os.FileMode) []byte {
	t.Helper()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "program"), filepath.Join(folder, "bootstrap.zip")
	check.Must(t, os.WriteFile(from, []byte(program), mode))
	check.Must(t, os.Chtimes(from, at, at))
	check.Must(t, write(to, from))
	text, err := os.ReadFile(to)
	check.Must(t, err)
	return text
}

func TestZipDependsOnTheProgramAlone(t *testing.T) {
	monday := time.Date(2026, time.November, 23, 9, 30, 0, 0, time.UTC)
	first := zipped(t, "program", monday, 0o755)
	check.Equal(t, string(zipped(t, "program", monday.AddDate(0, 0, 1), 0o600)), string(first), "another time and another mode make another zip")
	check.False(t, bytes.Equal(zipped(t, "another", monday, 0o755), first), "another program makes the same zip")
}

func TestZipHoldsAnExecutableBootstrap(t *testing.T) {
	text := zipped(t, "program", time.Now(), 0o600)
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	check.Must(t, err)
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
		t.Fatalf("got %v", z.File)
	}
	entry, err := z.File[0].Open()
	check.Must(t, err)
	defer entry.Close()
	got, err := io.ReadAll(entry)
	check.Nil(t, err)
	check.Equal(t, string(got), "program")
}

// A zip that cannot be made leaves the one that is there, and nothing else.
func TestZipOfNoProgram(t *testing.T) {
	folder := t.TempDir()
	to := filepath.Join(folder, "bootstrap.zip")
	check.Must(t, os.WriteFile(to, []byte("old"), 0o644))
	for _, from := range []string{filepath.Join(folder, "absent"), folder} {
		check.Failed(t, write(to, from), "is packed", from)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	check.Nil(t, err)
	check.Equal(t, len(left), 1)
	text, err := os.ReadFile(to)
	check.Nil(t, err)
	check.Equal(t, string(text), "old")
}
