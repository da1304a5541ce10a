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
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	flag.Parse()
	if err := writeAll(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// writeAll updates every page of docs/ in the repository at root.
func writeAll(root string) error {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("no pages in %s; the argument is the root of the repository", filepath.Join(root, "docs"))
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
		if err := os.WriteFile(page, []byte(updated), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// marked is a table between its comments. Its last group is empty if the page ends before
// the second one.
var marked = regexp.MustCompile(`(?ms)^(<!-- options: (\S+)\.(\w+) -->)$.*?(<!-- end -->|\z)`)

// update returns the text of a page with new tables.
func update(root, text string) (updated string, err error) {
	updated = marked.ReplaceAllStringFunc(text, func(old string) string {
		m := marked.FindStringSubmatch(old)
		opening, folder, name, end := m[1], m[2], m[3], m[4]
		fields, invalid := readFields(root, folder, name)
		if end == "" {
			invalid = errors.New("no comment ends the table")
		}
		if invalid != nil {
			err = errors.Join(err, fmt.Errorf("%s.%s: %w", folder, name, invalid))
		}
		return opening + "\n\n" + table(path.Base(folder)+"."+name, fields) + "\n" + end
	})
	return updated, err
}

func table(title string, fields []field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| `%s` | default | |\n|---|---|---|\n", title)
	for _, f := range fields {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, cell(f.standard), cell(f.meaning))
	}
	return b.String()
}

// docLink is a link of a doc comment, such as [Tx.Publish] or [*os.File].
var docLink = regexp.MustCompile(`\[(\*?[A-Za-z][\w.]*)\]`)

// cell returns text of a doc comment as Markdown for a cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(docLink.ReplaceAllString(s, "`$1`"), "|", `\|`)
}
