package handlers

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent/driver"
)

// policy holds the options that all batches have in common.
type policy struct {
	concurrency int
	unrecorded  int                                 // 0: concurrency
	ahead       int                                 // 0: the default; negative: none
	margin      time.Duration                       // 0: the default
	wait        time.Duration                       // 0: wholeInvocation
	onFailure   func(context.Context, *RecordError) // nil: a line of the log
	hideText    bool                                // of handlers' own errors, in that line
}

const (
	// defaultAhead is how many idle connections the SDK's HTTP client keeps to
	// one host: more claims at once would open new ones each time.
	defaultAhead = 10
	// wholeInvocation is longer than any invocation.
	wholeInvocation = time.Hour
)

func (p policy) check(source string, mistakes *driver.Mistakes) {
	refuse := func(wrong bool, field string, value any) {
		mistakes.If(wrong, "handlers: %s: the option %s is %v; it must not be negative", source, field, value)
	}
	refuse(p.concurrency < 0, "Concurrency", p.concurrency)
	refuse(p.unrecorded < 0, "Unrecorded", p.unrecorded)
	refuse(p.margin < 0, "Margin", p.margin)
	refuse(p.wait < 0, "Wait", p.wait)
}

// filled returns p with its defaults.
func (p policy) filled() policy {
	p.concurrency = max(p.concurrency, 1)
	p.unrecorded = cmp.Or(p.unrecorded, p.concurrency)
	p.ahead = max(cmp.Or(p.ahead, defaultAhead), 0)
	p.wait = cmp.Or(p.wait, wholeInvocation)
	return p
}

// lastStart returns the time after which no record is started, for handlers
// with the given deadline. The zero time sets no limit.
func (p policy) lastStart(source string, deadline time.Time) (time.Time, error) {
	if deadline.IsZero() {
		return time.Time{}, nil
	}
	lastStart, margin, left := lanes.LastStart(deadline, p.margin)
	if left <= margin {
		return time.Time{}, &MarginError{Source: source, Margin: margin, Left: left}
	}
	return lastStart, nil
}

// recordFailed reports a record that is not done.
func (p policy) recordFailed(ctx context.Context, e *RecordError) {
	if p.onFailure != nil {
		p.onFailure(ctx, e)
		return
	}
	e.Log(ctx, p.hideText)
}
