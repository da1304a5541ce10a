package lambdaruntime

import (
	"errors"
	"fmt"
	"time"
)

// ErrClosed is the error of an invocation of a runtime that was closed, or
// closed meanwhile.
var ErrClosed = errors.New("lambdaruntime: closed")

// ErrIdle is the error of [Environment.Freeze] and [Environment.Thaw] where
// no invocation is in progress.
var ErrIdle = errors.New("lambdaruntime: no invocation in progress")

// TimeoutError means that the function was out of time and was killed.
type TimeoutError struct {
	RequestID string
	// LogStream is that of the process, as of [Environment.LogStream].
	LogStream string
	Timeout   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", e.RequestID, e.Timeout.Seconds())
}

// CrashedError means that the function's process ended in the middle of an
// invocation, by itself or by [Environment.Kill].
type CrashedError struct {
	RequestID string
	// LogStream is that of the process, as of [Environment.LogStream].
	LogStream string
	// Status is how it ended, such as "exit status 1" or "signal: killed".
	Status string
	// Output is the end of what it said.
	Output string
}

func (e *CrashedError) Error() string {
	return fmt.Sprintf("RequestId: %s Error: Runtime exited with error: %s\n%s", e.RequestID, e.Status, e.Output)
}

// InitError means that the function's process never asked for work.
type InitError struct {
	// Status is how it ended, or that it was out of time.
	Status string
	// Reported is what the function itself said of it, nil if nothing.
	Reported *FunctionError
	// Output is the end of what it said.
	Output string
}

func (e *InitError) Error() string {
	s := "lambdaruntime: initialization failed: " + e.Status
	if e.Reported != nil {
		s += ": " + e.Reported.Error()
	}
	return s + "\n" + e.Output
}

// Unwrap gives what the function itself said, if it did.
func (e *InitError) Unwrap() error {
	if e.Reported == nil {
		return nil
	}
	return e.Reported
}

// FunctionError is an error that the function answered: it has done so in
// order, which is why it is part of a [Response].
type FunctionError struct {
	// Type is the name of the Go type, on which Step Functions match.
	Type       string       `json:"errorType"`
	Message    string       `json:"errorMessage"`
	StackTrace []StackFrame `json:"stackTrace,omitempty"`
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// StackFrame is one line of the stack trace of a panic.
type StackFrame struct {
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Label string `json:"label"`
}
