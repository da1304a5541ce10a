// Command api writes the exported API of each public package into api/, a text file for each
// package:
//
//	go -C proof generate ./cmd/api
//
// So a change of the API shows in review. A test fails while a file is stale.
package main

//go:generate go run . ../../..

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: api ROOT; go generate names it")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func writeAll(root string) error {
	texts, err := describeAll(root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "api")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	stale, err := staleFiles(dir, texts)
	for _, name := range stale {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}

// staleFiles returns the files of packages that are gone.
func staleFiles(dir string, texts map[string]string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if _, ok := texts[entry.Name()]; !ok {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, err
}
