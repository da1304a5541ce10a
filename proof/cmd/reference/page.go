package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

var opening = regexp.MustCompile(`(?m)^<!-- options: (\S+)\.(\w+) -->$`)

const end = "<!-- end -->"

// update returns the text of a page with new tables.
func update(root, text string) (string, error) {
	var b strings.Builder
	for {
		at := opening.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String(), nil
		}
		folder, name := text[at[2]:at[3]], text[at[4]:at[5]]
		_, rest, found := strings.Cut(text[at[1]:], end)
		if !found {
			return "", errors.New("no " + end + " after the comment of " + name)
		}
		fields, err := readFields(root, folder, name)
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", folder, name, err)
		}
		b.WriteString(text[:at[1]])
		b.WriteString("\n\n" + table(path.Base(folder)+"."+name, fields) + "\n" + end)
		text = rest
	}
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
