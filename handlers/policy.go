package handlers

import (
	"context"
	"fmt"
	"time"
)

// policy is what the options of all batches have in common, with the defaults
// filled in.
type policy struct {
	concurrency int
	margin      time.Duration // 0: the default
	wait        time.Duration
	onFailure   func(context.Context, *RecordError) // nil: a line of the log
	hideText    bool                                // of the handlers' own errors, in that line
}

const (
	defaultMargin = time.Second
	// asLongAsItTakes is longer than any invocation.
	asLongAsItTakes = time.Hour
)

// newPolicy panics on what no event could make valid.
func newPolicy(source string, concurrency int, margin, wait, defaultWait time.Duration, onFailure func(context.Context, *RecordError), hideText bool) policy {
	refuse := func(wrong bool, field string, value any) {
		if wrong {
			panic(fmt.Sprintf("handlers: %s: the option %s is %v", source, field, value))
		}
	}
	refuse(concurrency < 0, "Concurrency", concurrency)
	refuse(margin < 0, "Margin", margin)
	refuse(wait < 0, "Wait", wait)
	p := policy{concurrency: max(concurrency, 1), margin: margin, wait: wait, onFailure: onFailure, hideText: hideText}
	if wait == 0 {
		p.wait = defaultWait
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
