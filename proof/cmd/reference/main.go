// Command reference generates the tables of options in docs/.
//
// A table is between two comments of a page,
//
//	<!-- options: idempotent.Config -->
//	<!-- end -->
//
// and has a row for each field of that struct, with its name, its default and its
// meaning. All three come from the doc comment, so that a page and the code agree. A
// test fails while a page is stale.
package main

//go:generate go run . ../../..

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := writeAll(root); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// writeAll updates every page of docs/ in the repository at root.
func writeAll(root string) error {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return fmt.Errorf("no pages in %s/docs; the argument is the root of the repository", root)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		updated, err := update(root, string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(page), err)
		}
		if updated == string(text) {
			continue
		}
		if err := os.WriteFile(page, []byte(updated), 0o644); err != nil {
			return err
		}
	}
	return nil
}
