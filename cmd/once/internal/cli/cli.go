// Package cli is how a command talks with a person: flags, words, questions and exit codes.
package cli

import (
	"context"
	"fmt"
	"strings"
)

// Codes to exit with. With 4, 5 and 6 nothing was written. once dynamodb exits with the
// code of its command.
const (
	CodeFailed         = 1 // the store refused or was not reached, the function failed, not all records are done, or it was interrupted
	CodeUsage          = 2 // used wrongly, or the command does not apply to the store
	CodeNoRecord       = 3
	CodeChanged        = 4 // the record has changed since it was shown
	CodeRefused        = 5 // the state of the record forbids it
	CodeDeclined       = 6 // not confirmed
	CodeUnacknowledged = 7 // a write may have been applied, or not
	CodeNotRight       = 8 // functions cannot use the table or its records
)

type Ending struct {
	Code int
	Err  error
}

func (e *Ending) Error() string { return e.Err.Error() }

func (e *Ending) Unwrap() error { return e.Err }

func Endf(code int, format string, args ...any) error {
	return &Ending{code, fmt.Errorf(format, args...)}
}

func Misuse(err error) error { return &Ending{CodeUsage, err} }

type Command struct {
	Usage, Summary, About string
	Run                   func(context.Context, *Call) error
	Many                  bool // it also runs on all records of a selection
}

// Name returns the word that calls the command.
func (c Command) Name() string {
	name, _, _ := strings.Cut(c.Usage, " ") // without an argument, the usage is the name
	return name
}
