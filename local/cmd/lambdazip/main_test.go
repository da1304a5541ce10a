package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// zipped is the zip of a program that was written at a time, with a mode.
func zipped(t *testing.T, program string, at time.Time, mode os.FileMode) []byte {
	t.Helper()
	folder := t.TempDir()
	from, to := filepath.Join(folder, "program"), filepath.Join(folder, "bootstrap.zip")
	if err := os.WriteFile(from, []byte(program), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(from, at, at); err != nil {
		t.Fatal(err)
	}
	if err := write(to, from); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestZipDependsOnTheProgramAlone(t *testing.T) {
	monday := time.Date(2026, time.November, 23, 9, 30, 0, 0, time.UTC)
	first := zipped(t, "program", monday, 0o755)
	if again := zipped(t, "program", monday.AddDate(0, 0, 1), 0o600); !bytes.Equal(again, first) {
		t.Error("another time and another mode make another zip")
	}
	if other := zipped(t, "another", monday, 0o755); bytes.Equal(other, first) {
		t.Error("another program makes the same zip")
	}
}

func TestZipHoldsAnExecutableBootstrap(t *testing.T) {
	text := zipped(t, "program", time.Now(), 0o600)
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
		t.Fatalf("got %v", z.File)
	}
	entry, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	if got, err := io.ReadAll(entry); err != nil || string(got) != "program" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A zip that cannot be made leaves the one that is there, and nothing else.
func TestZipOfNoProgram(t *testing.T) {
	folder := t.TempDir()
	to := filepath.Join(folder, "bootstrap.zip")
	if err := os.WriteFile(to, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{filepath.Join(folder, "absent"), folder} {
		if err := write(to, from); err == nil {
			t.Errorf("%s is packed", from)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "old" {
		t.Errorf("got %q, %v", text, err)
	}
}
