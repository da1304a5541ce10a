package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

// An Event is one of a record's life. At is zero if the record does not store the time.
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

// Since returns since when the record is in its state. It returns the zero time if the record
// does not store that: a different library or a version before endings has finished it, or it
// was released, or it runs again.
func (r *Record) Since(before time.Time) time.Time {
	switch {
	case r.Status != driver.InProgress:
		return r.end().At
	case r.Released(), r.Attempt > 1 && !r.Lapsed(before):
		return time.Time{}
	case r.StateAt(before) == Lapsed:
		return r.Lease
	}
	return r.Began
}

// failure returns the error of a failed record. An earlier version has stored it in the result
// alone, which may be sealed, or not read.
func (r *Record) failure() (f form.Failure) {
	switch e := r.end(); {
	case r.Status != driver.Failed:
	case e.Type != "":
		f.Type, f.Code = e.Type, e.Code
	case json.Unmarshal(r.Data, &f) != nil:
		return form.Failure{}
	}
	return f
}

// Cause returns the type and the code of the error as --error takes them.
func (r *Record) Cause() string {
	f := r.failure()
	return cli.Present("/", f.Type, f.Code)
}

type shownEnd struct {
	At     time.Time `json:"at,omitzero"`
	Type   string    `json:"type,omitempty"`
	Code   string    `json:"code,omitempty"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// end returns the ending of a finished record. In PostgreSQL, a claim by an earlier version
// leaves that of the expired record before it.
func (r *Record) end() driver.Ending {
	if r.Status == driver.InProgress {
		return driver.Ending{}
	}
	return r.Ended
}

func (r *Record) ended() (at time.Time, text string) {
	e := r.end()
	var code, by string
	if e.Code != "" {
		code = "(code " + e.Code + ")"
	}
	if e.By != "" {
		by = "by " + e.By
	}
	return e.At, cli.Printable(cli.Present(", ", cli.Present(" ", e.Type, code), cli.Present(": ", by, e.Reason)))
}
