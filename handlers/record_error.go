package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
)

// RecordError is the failure of one record of an event.
type RecordError struct {
	// Source is the event source, such as "sqs".
	Source string
	// Index is the place of the record in the event, from 0.
	Index int
	// ID is the source's id of the record, where it is no part of the content:
	// a message id, a sequence number, a partition and offset.
	ID  string
	Err error
	// Event is the call of the record. Its Outcome distinguishes a new failure
	// from the replay of a stored one. If no call was made, it has the Operation
	// alone. It is the zero Event for a relay of package relay.
	Event idempotent.Event

	// sealed reports that the executor encrypts what the text may quote.
	sealed bool
}

func (e *RecordError) Error() string { return e.with(fmt.Sprint(e.Err)) }

func (e *RecordError) with(cause string) string {
	cause = strings.TrimPrefix(cause, "handlers: ")
	if e.ID == "" {
		return fmt.Sprintf("handlers: %s record %d: %s", e.Source, e.Index, cause)
	}
	return fmt.Sprintf("handlers: %s record %d (%s): %s", e.Source, e.Index, e.ID, cause)
}

// SafeText returns the text, with the safe text of the cause.
func (e *RecordError) SafeText() string { return e.with(idempotent.SafeText(e.Err)) }

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// LogError writes a line on [slog.Default], as options OnFailure do by default. It has
// the safe text of the cause: the type of a handler's own error, and the stack of a
// panic. Where records are reported one by one, Lambda receives no error: this line is
// the only trace of a handler's failure.
func LogError(ctx context.Context, e *RecordError) { e.log(ctx, idempotent.SafeText(e.Err)) }

// LogErrorText is [LogError] with the text of handlers' own errors, cut to 1 KiB, for
// texts that quote no data. It is LogError itself for an executor with a Config.Sealer:
// data that a store may not read must not appear in a log.
func LogErrorText(ctx context.Context, e *RecordError) {
	if e.sealed {
		LogError(ctx, e)
		return
	}
	e.log(ctx, oneLine(e.Err.Error()))
}

func (e *RecordError) log(ctx context.Context, text string) {
	level := slog.LevelWarn
	notStarted, isNotStarted := e.Err.(*NotStartedError)
	switch {
	case isNotStarted && notStarted.Reason == lanes.AfterFailure: // the failure has a line
		level = slog.LevelDebug
	case errors.Is(e.Err, ErrNotStarted), errors.Is(e.Err, idempotent.ErrInProgress):
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{
		slog.String("source", e.Source), slog.Int("record", e.Index),
		slog.String("id", e.ID), slog.String("error", text),
	}
	for _, of := range []slog.Attr{
		slog.String("operation", e.Event.Operation),
		slog.String("record_id", e.Event.RecordID),
		slog.String("outcome", string(e.Event.Outcome)),
	} {
		if of.Value.String() != "" {
			attrs = append(attrs, of)
		}
	}
	if panicked, ok := errors.AsType[*PanicError](e.Err); ok {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	slog.Default().LogAttrs(ctx, level, "record failed", attrs...)
}

// longestText is the length in bytes of the longest error text that is logged.
const longestText = 1 << 10

// oneLine returns text without line breaks and other control characters, cut
// to longestText bytes.
func oneLine(text string) string {
	more := ""
	if len(text) > longestText {
		more = "…"
		text = text[:longestText-len(more)]
	}
	// Neither replacement is longer than the original.
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")) + more
}
