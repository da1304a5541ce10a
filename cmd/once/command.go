package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Codes to exit with. With 4, 5 and 6 nothing was written. once dynamodb exits with the
// code of its command.
const (
	codeFailed         = 1 // the store refused or was not reached, the function failed, not all is resumed, or it was interrupted
	codeUsage          = 2 // used wrongly, or the command does not apply to the store
	codeNoRecord       = 3
	codeChanged        = 4 // the record has changed since it was shown
	codeRefused        = 5 // the state of the record forbids it
	codeDeclined       = 6 // not confirmed
	codeUnacknowledged = 7 // a write may have been applied, or not
	codeNotRight       = 8 // functions cannot use the table or its records
)

// ending is an error with its code.
type ending struct {
	code int
	err  error
}

func (e *ending) Error() string { return e.err.Error() }
func (e *ending) Unwrap() error { return e.err }

func endf(code int, format string, args ...any) error {
	return &ending{code, fmt.Errorf(format, args...)}
}

// terminal connects a command to its user: results go to out, all else to err.
type terminal struct {
	in       io.Reader
	out, err io.Writer
}

type command struct {
	usage, summary, about string
	run                   func(context.Context, *call) error
}

func (c command) name() string {
	name, _, _ := strings.Cut(c.usage, " ") // without an argument, the usage is the name
	return name
}
