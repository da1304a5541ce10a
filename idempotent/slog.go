package idempotent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// LogObserver writes every call to a logger: what went as it should at
// [slog.LevelDebug], refusals and failures at Info, takeovers, lost leases
// and handlers that were cut off at Warn, unknown outcomes and errors of the store at Error.
type LogObserver struct {
	// Logger is where to; nil is [slog.Default].
	Logger *slog.Logger
	// HandlerErrors has the text of the handler's own errors logged. They
	// may quote the request, so by default only their type is.
	HandlerErrors bool
}

// Observe writes one record.
func (o LogObserver) Observe(ctx context.Context, e Event) {
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	level := e.level()
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", e.Operation),
		slog.String("key_hash", e.KeyHash),
		slog.String("outcome", string(e.Outcome)),
		slog.Int64("attempt", e.Attempt),
		slog.Duration("total", e.Total),
		slog.Duration("handler", e.Handler),
		slog.Duration("store", e.Store),
		slog.Int("round_trips", e.RoundTrips),
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", o.text(e.Err)))
	}
	logger.LogAttrs(ctx, level, "idempotent call", attrs...)
}

func (e Event) level() slog.Level {
	if e.Outcome == OutcomeUnknown || errors.Is(e.Err, ErrStore) {
		return slog.LevelError
	}
	if errors.Is(e.Err, ErrCompensation) || errors.Is(e.Err, ErrResultUnavailable) {
		return slog.LevelWarn
	}
	switch e.Outcome {
	case OutcomeExecuted, OutcomeReplayed, OutcomeBypassed:
		return slog.LevelDebug
	case OutcomeTakeover, OutcomeLeaseLost, OutcomeTimedOut:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// text is the error's own text where this package wrote it, and otherwise its
// type.
func (o LogObserver) text(err error) string {
	switch e := err.(type) {
	case *InProgressError, *InvalidKeyError, *KeyReusedError, *LeaseLostError, *MissingKeyError, *NestedCallError,
		*OutcomeUnknownError, *ResultUnavailableError, *StoreError, *InvalidPayloadError, *StepError:
		return e.Error()
	case *CompensationError:
		return fmt.Sprintf("idempotent: the step %q is not undone: %s", e.Step, o.text(e.Err))
	case *TimedOutError:
		cause := *e
		cause.Err = errors.New(o.text(e.Err))
		return cause.Error()
	case interface{ Unwrap() []error }:
		var texts []string
		for _, err := range e.Unwrap() {
			texts = append(texts, o.text(err))
		}
		return strings.Join(texts, "; ")
	}
	if o.HandlerErrors || err == errPanicked {
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}
