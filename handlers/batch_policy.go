package handlers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
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
