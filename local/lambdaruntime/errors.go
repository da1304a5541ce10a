package lambdaruntime

import (
	"errors"
	"fmt"
	"time"
)

// ErrClosed reports that the runtime was closed before or during an invocation.
var ErrClosed = errors.New("lambdaruntime: closed")

// ErrIdle is returned by [Environment.Freeze] and [Environment.Thaw] if no invocation
// is in progress.
var ErrIdle = errors.New("lambdaruntime: no invocation in progress")

// A TimeoutError reports that the function was killed at its timeout.
type TimeoutError struct {
	RequestID string
	// LogStream names the process, as [Environment.LogStream] does.
	LogStream string
	Timeout   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", e.RequestID, e.Timeout.Seconds())
}

// A CrashedError reports that the process of the function exited during an invocation,
// by itself or by [Environment.Kill].
type CrashedError struct {
	RequestID string
	// LogStream names the process, as [Environment.LogStream] does.
	LogStream string
	// Status is its exit status, such as "exit status 1" or "signal: killed".
	Status string
	// Output is the end of its output.
	Output string
}

func (e *CrashedError) Error() string {
	return fmt.Sprintf("RequestId: %s Error: Runtime exited with error: %s\n%s", e.RequestID, e.Status, e.Output)
}

// An InitError reports that the process of the function never requested work.
type InitError struct {
	// Status is its exit status, or says that it timed out.
	Status string
	// Reported is the error that the function reported, or nil.
	Reported *FunctionError
	// Output is the end of its output.
	Output string
}

func (e *InitError) Error() string {
	s := "lambdaruntime: initialization failed: " + e.Status
	if e.Reported != nil {
		s += ": " + e.Reported.Error()
	}
	return s + "\n" + e.Output
}

// Unwrap returns the error that the function reported, or nil.
func (e *InitError) Unwrap() error {
	if e.Reported == nil {
		return nil
	}
	return e.Reported
}

// A FunctionError is an error that the function returned. It is part of a [Response],
// because the invocation itself succeeded.
type FunctionError struct {
	// Type is the name of the Go type, on which Step Functions match.
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }
