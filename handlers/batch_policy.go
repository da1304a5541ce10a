package handlers

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent/driver"
)

const (
	// defaultAhead is how many idle connections the SDK's HTTP client keeps to
	// one host: more claims at once would open new ones each time.
	defaultAhead = 10
	// wholeInvocation is longer than any invocation.
	wholeInvocation = time.Hour
)

func (o EventOptions) check(source string, mistakes *driver.Mistakes) {
	refuse := func(wrong bool, field string, value any) {
		mistakes.If(wrong, "handlers: %s: the option %s is %v; it must not be negative", source, field, value)
	}
	refuse(o.Concurrency < 0, "Concurrency", o.Concurrency)
	refuse(o.Unrecorded < 0, "Unrecorded", o.Unrecorded)
	refuse(o.Margin < 0, "Margin", o.Margin)
	refuse(o.Wait < 0, "Wait", o.Wait)
}

// filled returns o with its defaults, but for the Margin, whose default depends on the
// time left.
func (o EventOptions) filled() EventOptions {
	o.Ahead = max(cmp.Or(o.Ahead, defaultAhead), 0)
	o.Concurrency = max(o.Concurrency, 1)
	if hide := o.HideErrorText; o.OnFailure == nil {
		o.OnFailure = func(ctx context.Context, e *RecordError) { e.Log(ctx, hide) }
	}
	o.Unrecorded = cmp.Or(o.Unrecorded, o.Concurrency)
	o.Wait = cmp.Or(o.Wait, wholeInvocation)
	return o
}

// lastStart returns the time after which no record is started, for handlers
// with the given deadline. The zero time sets no limit.
func (o EventOptions) lastStart(source string, deadline time.Time) (time.Time, error) {
	if deadline.IsZero() {
		return time.Time{}, nil
	}
	lastStart, margin, left := lanes.LastStart(deadline, o.Margin)
	if left <= margin {
		return time.Time{}, &MarginError{Source: source, Margin: margin, Left: left}
	}
	return lastStart, nil
}
