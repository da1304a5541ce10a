// Package options carries values in a context between the packages idempotent,
// adapter and driver: the running call, and the options of the next one.
package options

import (
	"context"
	"time"
)

// Options are the settings of the next call under a context. The functions of
// package adapter set them, and describe them. Nil and zero values set nothing.
type Options struct {
	Attaching func()
	Chain     string
	Event     any // a *idempotent.Event
	Execution *Execution
	LastStart time.Time
	TimeUp    error
	ReadFirst bool
	Resolved  func(data []byte) bool
	Resumed   any // a *driver.Record
	Sibling   func() (coming int, end <-chan struct{})
	Turn      func(context.Context) error
	Wait      *time.Duration
	Waited    func(time.Duration) // of the call itself; set with Sibling
	Waiting   func()
}

// An Execution is that of package adapter. Decide returns an idempotent.Outcome.
type Execution struct {
	ID     []string
	Until  time.Time
	Decide func(err error) string
	Ask    func(ctx context.Context, id string) (state ExecutionState, result []byte, err error)
}

// An ExecutionState is that of package adapter.
type ExecutionState uint8

// The states of an execution.
const (
	ExecutionActive ExecutionState = iota
	ExecutionSucceeded
	ExecutionEnded
)

// Package idempotent sets these functions for package adapter.
var (
	// ForAdapters returns the methods of an *idempotent.Executor for adapters.
	ForAdapters func(x any) Executor
	// Share makes a *idempotent.Config one of shared records.
	Share func(config any)
)

// An Executor is an *idempotent.Executor for adapters.
type Executor interface {
	Ahead() int
	CheckExecutions(timeout time.Duration) error
	ClaimsAhead() bool
	Disabled() bool
	HandlerDeadline(context.Context) (deadline time.Time, ok bool)
	Margin() time.Duration
	RefusesLate() bool
	Resumes() bool
	Seals() bool
}
