package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/lambda-once/once/idempotent"
)

// policy is what the options of all batches have in common, with the defaults
// filled in.
type policy struct {
	concurrency int
	unrecorded  int           // 0: concurrency
	ahead       int           // 0: the default; negative: none
	margin      time.Duration // 0: the default
	wait        time.Duration
	onFailure   func(context.Context, *RecordError) // nil: a line of the log
	hideText    bool                                // of handlers' own errors, in that line
}

const (
	defaultMargin = time.Second
	// defaultAhead is how many idle connections the SDK's HTTP client keeps to
	// one host: more claims at once would open new ones each time.
	defaultAhead = 10
	// wholeInvocation is longer than any invocation.
	wholeInvocation = time.Hour
)

// filled returns p with its defaults. It panics if an option is negative.
func (p policy) filled(source string, defaultWait time.Duration) policy {
	refuse := func(wrong bool, field string, value any) {
		if wrong {
			panic(fmt.Sprintf("handlers: %s: the option %s is %v", source, field, value))
		}
	}
	refuse(p.concurrency < 0, "Concurrency", p.concurrency)
	refuse(p.unrecorded < 0, "Unrecorded", p.unrecorded)
	refuse(p.margin < 0, "Margin", p.margin)
	refuse(p.wait < 0, "Wait", p.wait)
	p.concurrency = max(p.concurrency, 1)
	p.unrecorded = cmp.Or(p.unrecorded, p.concurrency)
	p.ahead = max(cmp.Or(p.ahead, defaultAhead), 0)
	p.wait = cmp.Or(p.wait, defaultWait)
	return p
}

// lastStart returns the time after which no record is started, for handlers
// with the given deadline. The zero time sets no limit. Only the default margin
// is shortened, to half of the time left: nobody has chosen it.
func (p policy) lastStart(source string, deadline time.Time) (time.Time, error) {
	if deadline.IsZero() {
		return time.Time{}, nil
	}
	left := time.Until(deadline)
	margin := p.margin
	if margin == 0 {
		margin = min(defaultMargin, left/2)
	}
	if left <= margin {
		return time.Time{}, &MarginError{Source: source, Margin: margin, Left: left}
	}
	return deadline.Add(-margin), nil
}

// recordFailed reports a record that is not done.
func (p policy) recordFailed(ctx context.Context, e *RecordError) {
	if p.onFailure != nil {
		p.onFailure(ctx, e)
		return
	}
	logFailure(ctx, e, p.hideText)
}

// logFailure is the default of the options OnFailure. Where records are
// reported one by one, Lambda receives no error: this line is the only trace of
// a handler's failure, so it contains the handler's own text.
func logFailure(ctx context.Context, failed *RecordError, hideText bool) {
	level := slog.LevelWarn
	switch {
	case failed.Err == error(errAfterFailure): // the failure has a line
		level = slog.LevelDebug
	case errors.Is(failed.Err, ErrNotStarted), errors.Is(failed.Err, idempotent.ErrInProgress):
		level = slog.LevelInfo
	}
	text := idempotent.SafeText(failed.Err)
	if !hideText {
		text = oneLine(failed.Err.Error())
	}
	attrs := []slog.Attr{
		slog.String("source", failed.Source), slog.Int("record", failed.Index),
		slog.String("id", failed.ID), slog.String("error", text),
	}
	for _, of := range []slog.Attr{
		slog.String("operation", failed.Event.Operation),
		slog.String("key_hash", failed.Event.KeyHash),
		slog.String("outcome", string(failed.Event.Outcome)),
	} {
		if of.Value.String() != "" {
			attrs = append(attrs, of)
		}
	}
	if panicked, ok := errors.AsType[*PanicError](failed.Err); ok {
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
	// Neither replacement is longer than what it replaces.
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")) + more
}
