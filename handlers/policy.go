package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// policy is what the options of all batches have in common, with the defaults
// filled in.
type policy struct {
	concurrency int
	margin      time.Duration // 0: the default
	wait        time.Duration
	onFailure   func(context.Context, *RecordError)
}

const (
	defaultMargin = time.Second
	// asLongAsItTakes is longer than any invocation.
	asLongAsItTakes = time.Hour
)

// newPolicy panics on what no event could make valid.
func newPolicy(source string, concurrency int, margin, wait, defaultWait time.Duration, onFailure func(context.Context, *RecordError)) policy {
	refuse := func(wrong bool, field string, value any) {
		if wrong {
			panic(fmt.Sprintf("handlers: %s: the option %s is %v", source, field, value))
		}
	}
	refuse(concurrency < 0, "Concurrency", concurrency)
	refuse(margin < 0, "Margin", margin)
	refuse(wait < 0, "Wait", wait)
	p := policy{concurrency: max(concurrency, 1), margin: margin, wait: wait, onFailure: onFailure}
	if wait == 0 {
		p.wait = defaultWait
	}
	if onFailure == nil {
		p.onFailure = logFailure
	}
	return p
}

// lastStart returns the time after which no record is started, for records
// whose handlers end at the given time; the zero time is no limit. Only the
// default margin is shortened, to half of the time left: it is nobody's choice.
func (p policy) lastStart(source string, end time.Time) (time.Time, error) {
	if end.IsZero() {
		return time.Time{}, nil
	}
	left := time.Until(end)
	margin := p.margin
	if margin == 0 {
		margin = min(defaultMargin, left/2)
	}
	if left <= margin {
		return time.Time{}, &MarginError{Source: source, Margin: margin, Left: left}
	}
	return end.Add(-margin), nil
}

// logFailure is the default of the options OnFailure.
func logFailure(ctx context.Context, failed *RecordError) {
	level := slog.LevelWarn
	switch {
	case failed.Err == errAfterOther: // the other has a line
		level = slog.LevelDebug
	case errors.Is(failed.Err, ErrNotStarted), errors.Is(failed.Err, idempotent.ErrInProgress):
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{
		slog.String("source", failed.Source), slog.Int("record", failed.Index),
		slog.String("id", failed.ID), slog.String("error", quotesNothing(failed.Err)),
	}
	if panicked, ok := errors.AsType[*PanicError](failed.Err); ok {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	slog.Default().LogAttrs(ctx, level, "record failed", attrs...)
}

// quotesNothing is an error's text where Once wrote it, and otherwise its
// type: the text of a handler's error may quote the message.
func quotesNothing(err error) string {
	switch err.(type) {
	case *DecodeError, *idempotent.InProgressError, *idempotent.InvalidKeyError, *idempotent.InvalidPayloadError,
		*idempotent.KeyReusedError, *idempotent.LeaseLostError, *idempotent.MissingKeyError, *idempotent.NestedCallError,
		*idempotent.OutcomeUnknownError, *UnmarkedError:
		return err.Error()
	}
	switch err {
	case errAfterOther, errNoID, errOutOfTime, errUnfinished:
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}
