package handlers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
)

// ErrNotStarted matches errors of type [*NotStartedError].
var ErrNotStarted = errors.New("handlers: not started")

// NotStartedError reports that a record did not run, because too little time
// was left or a record before it had failed. The source delivers it again.
type NotStartedError struct{ Reason string }

func (e *NotStartedError) Error() string { return ErrNotStarted.Error() + ": " + e.Reason }

// SafeText returns the whole text.
func (e *NotStartedError) SafeText() string { return e.Error() }

// Is reports whether target is ErrNotStarted.
func (e *NotStartedError) Is(target error) bool { return target == ErrNotStarted }

var (
	errOutOfTime    = &NotStartedError{lanes.OutOfTime}
	errAfterFailure = &NotStartedError{lanes.AfterFailure}
	errYielded      = &NotStartedError{"a record before it waits for a duplicate; it is claimed again in its turn"}
	errUnfinished   = &UnfinishedError{}

	notRun = lanes.Errors{OutOfTime: errOutOfTime, AfterFailure: errAfterFailure, Unfinished: errUnfinished, Yielded: errYielded}
)

// UnfinishedError reports that a handler ended its goroutine, as runtime.Goexit
// does, and neither returned nor panicked.
type UnfinishedError struct{}

func (e *UnfinishedError) Error() string { return "handlers: the handler ended its goroutine" }

// SafeText returns the whole text.
func (e *UnfinishedError) SafeText() string { return e.Error() }

// NoIDError reports that a record has no id by which its failure could be
// reported. The record did not run, and the invocation fails: the source
// delivers the whole event again.
type NoIDError struct{}

func (e *NoIDError) Error() string { return "handlers: the record has no id to report it by" }

// SafeText returns the whole text.
func (e *NoIDError) SafeText() string { return e.Error() }

// explained returns the error of a record that did not run. If its key is missing, it adds the
// reason that the body shows.
func (r *record[D]) explained(err error) error {
	missing, ok := err.(*idempotent.MissingKeyError)
	if !ok || r.began || missing.Part != "id" {
		return err
	}
	explained := *missing
	switch {
	case isNotification(r.text):
		explained.Reason = "the body is " + aNotification
	case r.zero != "":
		explained.Reason = "the body decodes to the zero value of " + r.zero + ": compare the names of its members with the type's fields and tags"
	}
	return &explained
}

// ErrNoRecords matches errors of type [*NoRecordsError].
var ErrNoRecords = errors.New("handlers: the event has no records")

// NoRecordsError reports that an event has no records, or a record of a different
// source. Connect the function to the source that its handler is made for.
type NoRecordsError struct {
	Source string // the handler's, such as "sqs"
	// Record is the index of the record of a different source, or -1 if the event
	// has no records.
	Record int
}

func (e *NoRecordsError) Error() string {
	text := ErrNoRecords.Error() + " of " + e.Source
	if e.Record >= 0 {
		text += fmt.Sprintf(": record %d is of another source", e.Record)
	}
	return text
}

// SafeText returns the whole text.
func (e *NoRecordsError) SafeText() string { return e.Error() }

// Is reports whether target is ErrNoRecords.
func (e *NoRecordsError) Is(target error) bool { return target == ErrNoRecords }

// OptionError reports that a record failed, and so did the option that was
// called for it: Late, Poison or Visibility.
type OptionError struct {
	Option string
	Err    error // of the option
	Record error // of the record
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%v; and the option %s failed: %v", e.Record, e.Option, e.Err)
}

// SafeText returns the safe texts of both errors.
func (e *OptionError) SafeText() string {
	return fmt.Sprintf("%s; and the option %s failed: %s", idempotent.SafeText(e.Record), e.Option, idempotent.SafeText(e.Err))
}

// Unwrap returns the record's error and the option's.
func (e *OptionError) Unwrap() []error { return []error{e.Record, e.Err} }

// ErrMargin matches errors of type [*MarginError].
var ErrMargin = errors.New("handlers: the margin leaves no room")

// MarginError reports that no record of an event could start: when the
// invocation began, its handlers had less time left than Config.Margin
// reserves. The source delivers all records again. Raise the function's
// timeout, which must be longer than Config.Margin and Config.Reserve together.
type MarginError struct {
	Source string        // the event source, such as "sqs"
	Margin time.Duration // as set, or the default
	Left   time.Duration // until the handlers' deadline; negative if it had passed
}

func (e *MarginError) Error() string {
	return fmt.Sprintf("handlers: %s: nothing can start: the handlers have %v left, and the margin is %v; raise the function's timeout",
		e.Source, e.Left.Round(time.Millisecond), e.Margin.Round(time.Millisecond))
}

// SafeText returns the whole text.
func (e *MarginError) SafeText() string { return e.Error() }

// Is reports whether target is ErrMargin.
func (e *MarginError) Is(target error) bool { return target == ErrMargin }

// BatchError fails an invocation: some of its records failed, and they cannot
// be reported one by one. The source delivers all records again. Those that
// are done do not run again.
type BatchError struct {
	Failed []*RecordError
	// Reason is why the records are not reported one by one.
	Reason string
}

// shown is how many records the text of a BatchError names.
const shown = 5

func (e *BatchError) Error() string {
	var text strings.Builder
	text.WriteString(e.SafeText())
	for i, failed := range e.Failed {
		if i == shown {
			fmt.Fprintf(&text, "\n… and %d more", len(e.Failed)-shown)
			break
		}
		text.WriteString("\n" + strings.TrimPrefix(failed.Error(), "handlers: "))
	}
	return text.String()
}

// SafeText returns how many records failed, and why none was reported.
func (e *BatchError) SafeText() string {
	return fmt.Sprintf("handlers: %d failed, and %s", len(e.Failed), e.Reason)
}

// Unwrap returns the errors of the failed records.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, failed := range e.Failed {
		errs[i] = failed
	}
	return errs
}

// PanicError is the error of a record whose handler, key function or decoder
// panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// SafeText returns the type alone: the value may quote the record.
func (e *PanicError) SafeText() string { return fmt.Sprintf("%T", e) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// UnreadableError replaces an error whose Error method panics, as that of a nil
// pointer may. Type is its Go type.
type UnreadableError struct{ Type string }

func (e *UnreadableError) Error() string {
	return "handlers: an error of type " + e.Type + " panics when it is read, as a nil pointer does"
}

// SafeText returns the whole text.
func (e *UnreadableError) SafeText() string { return e.Error() }

// guarded returns a panic of call as an error.
func guarded(call func() error) error {
	return panics.Catch(call, func(value any, stack []byte) error { return &PanicError{value, stack} })
}

// readable replaces an error that panics when it is read, as a typed nil does:
// everybody who receives it would panic too.
func readable(err error) error {
	if panics.Readable(err) {
		return err
	}
	return &UnreadableError{Type: fmt.Sprintf("%T", err)}
}
