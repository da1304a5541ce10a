// Package checked names the records of "once check", which plays a call on a record of its own.
// They are of no caller: what searches for records passes them over.
package checked

import "strings"

// Name begins the part of the id behind the operation, where a call has a hash.
const Name = "once-check-"

// textLength is that of rand.Text.
const textLength = 26

// ID returns the id of a record. text is one of rand.Text.
func ID(operation, text string) string { return operation + "#" + Name + text }

// Is reports whether the id is one that ID returns.
func Is(id string) bool {
	_, rest, _ := strings.Cut(id, "#")
	text, ok := strings.CutPrefix(rest, Name)
	return ok && len(text) == textLength
}
