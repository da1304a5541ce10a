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

func (e Event) in(now time.Time) string {
	if e.At.IsZero() {
		return e.Text
	}
	return cli.Present(", ", fmt.Sprintf("%s (%s)", cli.Stamp(e.At), cli.Relative(e.At, now)), e.Text)
}

func (r *Record) Life(now, before time.Time) (all []Event) {
	add := func(at time.Time, name, format string, args ...any) {
		all = append(all, Event{at, name, fmt.Sprintf(format, args...)})
	}
	undo := r.Saga() // which completes the steps
	if !r.Began.IsZero() {
		add(r.Began, "began", "")
	}
	if r.Attempt > 0 || r.Refunds > 0 {
		add(time.Time{}, "attempt", "%d, of which %d count against MaxAttempts", max(r.Attempt, 1), r.Used())
	}
	for _, s := range r.steps {
		add(time.Time{}, "step", "%s", s)
	}
	switch {
	case undo == nil:
	case len(undo.Undone) > 0:
		add(time.Time{}, "undone", "%s", cli.Printable(strings.Join(undo.Undone, ", ")))
	default:
		add(time.Time{}, "failed", "for good, with %s", cmp.Or(cli.Printable(undo.Type), "an error that cannot be read"))
	}
	switch at := r.StateAt(before); {
	case r.Lease.IsZero(), r.Status != driver.InProgress:
	case r.Released():
		add(time.Time{}, "lease", "ended by a release")
	case r.Lease.Before(now) && at == Running:
		add(r.Lease, "lease", "ended, but counts as live for the clock skew of %v", now.Sub(before))
	case r.Lease.Before(now):
		add(r.Lease, "lease", "ended")
	default:
		add(r.Lease, "lease", "live until then")
	}
	if at, text := r.ended(); text != "" || !at.IsZero() {
		add(at, "ended", "%s", text)
	}
	switch {
	case r.Expires.IsZero():
	case r.NeverExpires():
		add(time.Time{}, "expires", "never")
	default:
		add(r.Expires, "expires", "")
	}
	return all
}
