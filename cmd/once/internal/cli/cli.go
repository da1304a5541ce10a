// Package cli is how a command talks with a person: flags, words, questions and exit codes.
package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
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

// Terminal connects a command to its user: results go to out, all else to err.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
}

// Confirm asks for a yes, and returns an error without one. An interrupt ends the wait for
// it, but not the read, which ends with the process.
func (t Terminal) Confirm(ctx context.Context) error { return t.Ask(ctx, "nothing was written") }

// Ask asks as Confirm does. Without a yes, the error says so, as in "nothing was read".
func (t Terminal) Ask(ctx context.Context, so string) error {
	fmt.Fprint(t.Err, "Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(t.In).ReadString('\n') // an answer without its end is none
		answers <- strings.ToLower(answer)
	}()
	select {
	case answer := <-answers:
		if ctx.Err() == nil && strings.HasSuffix(answer, "\n") && slices.Contains([]string{"y", "yes"}, strings.TrimSpace(answer)) {
			return nil
		}
	case <-ctx.Done():
	}
	return Endf(CodeDeclined, "not confirmed; %s", so)
}

// Printable quotes a text that would control the terminal.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func Present(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Counts appends to a text how often each kind was met, if it was.
func Counts[K comparable](text string, kinds []K, met map[K]int) string {
	var all []string
	for _, k := range kinds {
		if met[k] > 0 {
			all = append(all, fmt.Sprint(met[k], " ", k))
		}
	}
	return Present(": ", text, strings.Join(all, ", "))
}
