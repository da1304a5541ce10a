package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Printable quotes a text that would control the terminal.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// Present joins the texts that are not empty.
func Present(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// WriteJSON writes a value as one line.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
