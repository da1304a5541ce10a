package idempotent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// An Observer receives every call of an [Executor] before the call returns. It
// is used by many calls at once, so it must be quick, and must not panic.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Observers is an Observer that passes each call to several.
type Observers []Observer

// Observe calls each observer in turn.
func (o Observers) Observe(ctx context.Context, e Event) {
	for _, observer := range o {
		observer.Observe(ctx, e)
	}
}

// Observed is implemented by a [driver.Store] that brings an Observer for its calls, as
// that of package dynamoenv does if the environment asks for metrics. [New] combines it
// with the default of Config.Observer; any Config.Observer replaces both. A decorator
// of such a store implements it as well, or its calls lose their metrics.
type Observed interface {
	// DefaultObserver returns the Observer, or nil for none.
	DefaultObserver() Observer
}

// A NoObserver is an [Observer] that does nothing. As Config.Observer it
// switches the default off.
type NoObserver struct{}

// Observe does nothing.
func (NoObserver) Observe(context.Context, Event) {}

// A LogObserver writes each call to a logger, at a level that depends on its
// event:
//
//   - [slog.LevelError]: an unknown outcome, and an error of the store, also in a
//     call that failed open.
//   - [slog.LevelWarn]: a run after a lapsed lease, a lost lease, a timeout, a
//     repeated effect, steps that are not undone, an unavailable result, and a late
//     key.
//   - [slog.LevelInfo]: other refusals, and failures.
//   - [slog.LevelDebug]: successes, retries after a release, and configured
//     bypasses.
//
// With the Level Warn it is the default of Config.Observer.
type LogObserver struct {
	// HandlerErrors logs the text of the handler's own errors. They may quote
	// the request, so without it only their type is logged, or the text that a
	// [SafeError] calls safe. Default false.
	HandlerErrors bool
	// Level is the lowest level that is written. Default: every level that the
	// Logger takes.
	Level slog.Leveler
	// Logger writes the lines. Default: [slog.Default], as it is at each event.
	Logger *slog.Logger
}

// Observe writes one line.
func (o LogObserver) Observe(ctx context.Context, e Event) {
	level := e.level()
	if o.Level != nil && level < o.Level.Level() {
		return
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", e.Operation),
		slog.String("record_id", e.RecordID),
		slog.String("outcome", string(e.Outcome)),
		slog.Int64("attempt", e.Attempt),
		slog.Duration("total", e.Total),
		slog.Duration("handler", e.Handler),
		slog.Duration("store", e.Store),
		slog.Int("round_trips", e.RoundTrips),
	}
	if e.Lapsed {
		attrs = append(attrs, slog.Bool("lapsed", true))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", o.text(e.Err)))
	}
	logger.LogAttrs(ctx, level, "idempotent call", attrs...)
}

func (e Event) level() slog.Level {
	switch failed := e.Err != nil; {
	case e.Outcome == OutcomeUnknown, e.Outcome == OutcomeForgotten, failed && e.ErrorIs(ErrStore):
		return slog.LevelError
	case e.Lapsed, failed && (e.ErrorIs(ErrCompensation) || e.ErrorIs(ErrResultUnavailable)):
		return slog.LevelWarn
	}
	switch e.Outcome {
	case OutcomeExecuted, OutcomeTakeover, OutcomeSuspended:
		if e.Err != nil { // the caller has its result, and does not see it
			return slog.LevelWarn
		}
		return slog.LevelDebug
	case OutcomeReplayed, OutcomeBypassed, OutcomeNotRun:
		return slog.LevelDebug
	case OutcomeLeaseLost, OutcomeTimedOut, OutcomeRepeated, OutcomeExpired:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// text returns the text of an error for the line.
func (o LogObserver) text(err error) (text string) {
	if !o.HandlerErrors {
		return SafeText(err)
	}
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return strings.ReplaceAll(err.Error(), "\n", "; ") // between joined errors
}

// A SafeError is an error that knows which text of it may be logged. All error
// types of Once are SafeErrors, and a handler's may be.
type SafeError interface {
	error
	// SafeText returns the text of the error without any part that quotes a key,
	// a payload, or an error of a handler.
	SafeText() string
}

// SafeText returns the text of err that may be logged: that of a [SafeError], of
// joined errors each, and otherwise the Go type. Observers and adapters that write
// logs use it.
func SafeText(err error) (text string) {
	defer func() {
		if recover() != nil { // of its methods, such as those of a typed nil
			text = fmt.Sprintf("%T", err)
		}
	}()
	switch e := err.(type) {
	case SafeError:
		return e.SafeText()
	case interface{ Unwrap() []error }:
		var texts []string
		for _, err := range e.Unwrap() {
			texts = append(texts, SafeText(err))
		}
		return strings.Join(texts, "; ")
	}
	if err == errPanicked {
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}
