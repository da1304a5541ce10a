package record

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// An Event is one of a record's life. What the record does not tell has no time.
type Event struct {
	At         time.Time
	Name, Text string
}

// Life returns what has happened to a record, and what will, in order.
func (r *Record) Life(now, before time.Time) (all []Event) {
	add := func(at time.Time, name, format string, args ...any) {
		all = append(all, Event{at, name, fmt.Sprintf(format, args...)})
	}
	undo := r.Saga() // which completes the steps
	switch {
	case !r.Began.IsZero():
		add(r.Began, "claim", "the first attempt began")
	default:
		add(time.Time{}, "claim", "the record does not tell when it began")
	}
	if r.Attempt > 1 {
		add(time.Time{}, "takeover", "attempt %d: %d attempts have followed the first one, and %d count against MaxAttempts", r.Attempt, r.Attempt-1, r.Used())
	}
	for _, s := range r.steps {
		add(time.Time{}, "step", "%s", s)
	}
	if undo != nil && len(undo.Undone) == 0 {
		add(time.Time{}, "failure", "it has failed for good with %s, and its steps are being undone", cmp.Or(cli.Printable(undo.Type), "an error that cannot be read"))
	} else if undo != nil {
		add(time.Time{}, "undo", "undone: %s", cli.Printable(strings.Join(undo.Undone, ", ")))
	}
	switch s := r.StateAt(before); {
	case r.Status != driver.InProgress:
		e := r.end()
		cause := cli.Printable(cli.Present(", ", cli.Present("/", e.Type, e.Code), cli.Present(": ", cli.Present(" ", e.By), e.Reason)))
		add(e.At, "end", "%s", cli.Present(": ", cli.Printable(string(r.Status)), cause))
	case s == Released:
		add(time.Time{}, "release", "the lease was ended by a release")
	case s == Lapsed:
		add(r.Lease, "lapse", "the lease ended, and no call has taken over")
	case !r.Lease.IsZero():
		add(r.Lease, "lease", "until then the record belongs to its owner")
	}
	switch {
	case r.NeverExpires():
		add(time.Time{}, "expiry", "never")
	case r.Expires.Before(now):
		add(r.Expires, "expiry", "its retention has ended")
	default:
		add(r.Expires, "expiry", "until then calls with its key meet it")
	}
	return all
}
