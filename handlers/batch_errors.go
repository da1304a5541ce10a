package handlers

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotStarted marks the errors of records that were not run, because the
// time was short or a record before them had failed. They come back.
var ErrNotStarted = errors.New("handlers: not started")

// ErrNoRecords is the error of an event that has no records, or another
// source's: the function is connected to what it was not made for.
var ErrNoRecords = errors.New("handlers: the event has no records")

// NotStartedError says that a record was not run, and why. It comes back.
type NotStartedError struct{ reason string }

func (e *NotStartedError) Error() string { return ErrNotStarted.Error() + ": " + e.reason }

// Is reports whether target is ErrNotStarted.
func (e *NotStartedError) Is(target error) bool { return target == ErrNotStarted }

var (
	errOutOfTime  = &NotStartedError{"the time left is less than the margin, or the invocation was cancelled"}
	errAfterOther = &NotStartedError{"a record before it failed"}
	// errUnfinished stands until a record has ended: whatever ends the
	// goroutine that runs it, it does not count as done.
	errUnfinished = &UnfinishedError{}
)

// UnfinishedError says that a handler ended its goroutine, as runtime.Goexit
// does, and neither returned nor panicked.
type UnfinishedError struct{}

func (e *UnfinishedError) Error() string { return "handlers: the handler ended its goroutine" }

// NoIDError says that a record has no id to report it by. It was not run, and
// the invocation fails: all of its event comes back.
type NoIDError struct{}

func (e *NoIDError) Error() string { return "handlers: the record has no id to report it by" }

// UnreadableError stands for an error that panics when it is looked at, as one
// does that is a nil pointer. Type is its Go type.
type UnreadableError struct{ Type string }

func (e *UnreadableError) Error() string {
	return "handlers: an error of type " + e.Type + " that cannot be read, as a nil pointer cannot"
}

// NoRecordsError says that an event has no records, or has one of another
// source. Connect the function to the source that its handler takes.
type NoRecordsError struct {
	Source string // that the handler takes, such as "sqs"
	// Record is the index of the record of another source, -1 if the event has
	// no records.
	Record int
}

func (e *NoRecordsError) Error() string {
	text := ErrNoRecords.Error() + " of " + e.Source
	if e.Record >= 0 {
		text += fmt.Sprintf(": record %d is of another source", e.Record)
	}
	return text
}

// Is reports whether target is ErrNoRecords.
func (e *NoRecordsError) Is(target error) bool { return target == ErrNoRecords }

// OptionError says that a function of the options failed that was called for a
// record that had failed: Poison or Visibility.
type OptionError struct {
	Option string
	Err    error // of the function
	Record error // what the record failed with
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%v; and the option %s failed: %v", e.Record, e.Option, e.Err)
}

// Unwrap returns the record's error and the function's.
func (e *OptionError) Unwrap() []error { return []error{e.Record, e.Err} }

// ErrMargin marks errors of type [*MarginError].
var ErrMargin = errors.New("handlers: the margin leaves no room")

// MarginError says that no record of an event could be started: when the
// invocation began, its handlers had less time left than the option Margin
// keeps free. All records come back. Raise the function's timeout, which has
// to be longer than the Margin and Config.Reserve together.
type MarginError struct {
	Source string        // the event source, such as "sqs"
	Margin time.Duration // as set, or the default
	Left   time.Duration // until the handlers had to end; below 0 if they had to before
}

func (e *MarginError) Error() string {
	return fmt.Sprintf("handlers: %s: nothing can start: the handlers have %v left, and the Margin is %v; raise the function's timeout",
		e.Source, e.Left.Round(time.Millisecond), e.Margin.Round(time.Millisecond))
}

// Is reports whether target is ErrMargin.
func (e *MarginError) Is(target error) bool { return target == ErrMargin }

// RecordError is the failure of one record of an event.
type RecordError struct {
	// Source is the event source, such as "sqs".
	Source string
	// Index is the place of the record in the event, from 0.
	Index int
	// ID is what the source knows the record by, where that is no part of
	// its content: a message id, a sequence number, a partition and offset.
	ID  string
	Err error
}

func (e *RecordError) Error() string {
	cause := strings.TrimPrefix(fmt.Sprint(e.Err), "handlers: ")
	if e.ID == "" {
		return fmt.Sprintf("handlers: %s record %d: %s", e.Source, e.Index, cause)
	}
	return fmt.Sprintf("handlers: %s record %d (%s): %s", e.Source, e.Index, e.ID, cause)
}

// Unwrap gives what the record failed with.
func (e *RecordError) Unwrap() error { return e.Err }

// BatchError fails an invocation: records of it failed, and its source takes
// no report of single ones, or they cannot be named. All records come back;
// those that are done are not run again.
type BatchError struct {
	Failed []*RecordError
	// Reason is why the records are not reported one by one.
	Reason string
}

// shown is how many records the text of a BatchError names.
const shown = 5

func (e *BatchError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "handlers: %d failed, and %s", len(e.Failed), e.Reason)
	for i, failed := range e.Failed {
		if i == shown {
			fmt.Fprintf(&text, "\n… and %d more", len(e.Failed)-shown)
			break
		}
		text.WriteString("\n" + strings.TrimPrefix(failed.Error(), "handlers: "))
	}
	return text.String()
}

// Unwrap gives the failed records' errors.
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

// Unwrap gives the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
