package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"github.com/lambda-once/once/idempotent"
)

// failed tells of a record that is not done.
func (p policy) failed(ctx context.Context, e *RecordError) {
	if p.onFailure != nil {
		p.onFailure(ctx, e)
		return
	}
	logFailure(ctx, e, p.hideText)
}

// logFailure is the default of the options OnFailure. Where records are
// reported one by one, Lambda receives no error: this line is the only trace
// of what a handler failed with, so it has the handler's own text.
func logFailure(ctx context.Context, failed *RecordError, hideText bool) {
	level := slog.LevelWarn
	switch {
	case failed.Err == error(errAfterOther): // the other has a line
		level = slog.LevelDebug
	case errors.Is(failed.Err, ErrNotStarted), errors.Is(failed.Err, idempotent.ErrInProgress):
		level = slog.LevelInfo
	}
	text := quotesNothing(failed.Err)
	if !hideText {
		text = oneLine(failed.Err.Error())
	}
	attrs := []slog.Attr{
		slog.String("source", failed.Source), slog.Int("record", failed.Index),
		slog.String("id", failed.ID), slog.String("error", text),
	}
	if panicked, ok := errors.AsType[*PanicError](failed.Err); ok {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	slog.Default().LogAttrs(ctx, level, "record failed", attrs...)
}

// longestText is the length in bytes of the longest error text that is logged.
const longestText = 1 << 10

// oneLine returns a text without line breaks and other control characters, and
// of at most longestText bytes.
func oneLine(text string) string {
	more := ""
	if len(text) > longestText {
		more = "…"
		text = text[:longestText-len(more)]
	}
	// Neither replacement is longer than what it replaces.
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")) + more
}

// quotesNothing is an error's text where Once wrote it, and otherwise its
// type: the text of a handler's error may quote the message.
func quotesNothing(err error) string {
	switch e := err.(type) {
	case *OptionError:
		return fmt.Sprintf("%s; and the option %s failed: %s", quotesNothing(e.Record), e.Option, quotesNothing(e.Err))
	case *DecodeError, *idempotent.InProgressError, *idempotent.InvalidKeyError, *idempotent.InvalidPayloadError,
		*idempotent.KeyReusedError, *idempotent.LeaseLostError, *idempotent.MissingKeyError, *idempotent.OutcomeUnknownError,
		*idempotent.NestedCallError, *idempotent.ResultUnavailableError, *idempotent.StepError, *idempotent.StoreError,
		*NoIDError, *NotStartedError, *PublishError, *UnfinishedError, *UnmarkedError, *UnreadableError:
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}
