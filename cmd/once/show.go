package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
)

// shown is a record for --json. Times are in UTC, and a field is absent if its
// attribute is.
type shown struct {
	Record    string     `json:"record"`
	Operation string     `json:"operation,omitempty"`
	Status    string     `json:"status"`
	State     state      `json:"state"`
	Attempt   int64      `json:"attempt,omitempty"`
	Refunds   int64      `json:"refunds,omitempty"`
	Used      int64      `json:"used"`
	Owner     string     `json:"owner,omitempty"`
	Lease     *time.Time `json:"lease,omitempty"`
	Expires   *time.Time `json:"expires,omitempty"`
	// Began is when the first attempt made its claim.
	Began       *time.Time `json:"began,omitempty"`
	Ended       *shownEnd  `json:"ended,omitempty"`
	Fingerprint string     `json:"fingerprint,omitempty"`
	Steps       []step     `json:"steps,omitempty"`
	Problems    []string   `json:"problems,omitempty"`
	*wholeItem
}

// wholeItem is known only if all attributes were read.
type wholeItem struct {
	Data  string `json:"data"`
	Bytes int    `json:"bytes"`
	// Request describes the request that is stored, as Data does the result.
	Request string `json:"request,omitempty"`
	// Next is what the next call gets.
	Next next `json:"next"`
	// The reference of a result in a payload store, and the key that it is sealed
	// with.
	Payload    string `json:"payload,omitempty"`
	SealedWith string `json:"sealed_with,omitempty"`
	// Of inspect --data. Results that are not JSON are in base64.
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes []byte          `json:"result_base64,omitempty"`
	Unavailable string          `json:"unavailable,omitempty"`
	Saga        *saga           `json:"saga,omitempty"`
}

// shownEnd is how and when a record was finished.
type shownEnd struct {
	At     *time.Time `json:"at,omitempty"`
	Type   string     `json:"type,omitempty"`
	Code   string     `json:"code,omitempty"`
	By     string     `json:"by,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// end returns the ending of a finished record. In PostgreSQL, a claim by an earlier version
// leaves that of the expired record before it.
func (r *record) end() driver.Ending {
	if r.Status == driver.InProgress {
		return driver.Ending{}
	}
	return r.Ended
}

// ended returns how and when the record was finished, as a line, or "".
func (r *record) ended(now time.Time) string {
	e := r.end()
	var when, code, by string
	if !e.At.IsZero() {
		when = fmt.Sprintf("%s (%s)", stamp(e.At), relative(e.At, now))
	}
	if e.Code != "" {
		code = "(code " + e.Code + ")"
	}
	if e.By != "" {
		by = "by " + e.By
	}
	return printable(present(", ", when, present(" ", e.Type, code), present(": ", by, e.Reason)))
}

// present joins the texts that are not empty.
func present(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

func (r *record) json(before time.Time) *shown {
	s := &shown{
		Record: r.ID, Operation: r.operation(), Status: string(r.Status), State: r.at(before),
		Attempt: r.Attempt, Refunds: r.Refunds, Used: r.Used(), Owner: r.Owner,
		Expires: inUTC(r.Expires), Began: inUTC(r.Began), Fingerprint: r.Fingerprint, Steps: r.steps, Problems: r.Problems,
	}
	if !r.released() {
		s.Lease = inUTC(r.Lease)
	}
	if e := r.end(); e != (driver.Ending{}) {
		s.Ended = &shownEnd{inUTC(e.At), e.Type, e.Code, e.By, e.Reason}
	}
	return s
}

func (r *record) whole(before time.Time) *shown {
	s := r.json(before)
	s.wholeItem = &wholeItem{Data: r.shape(), Bytes: r.Size, Payload: r.Payload, Request: r.request(), Next: r.next(s.State)}
	s.SealedWith, _ = seal.KeyID(r.Data)
	return s
}

// inUTC returns nil for an absent time.
func inUTC(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (r *record) print(w io.Writer, now, before time.Time) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	at := r.at(before)
	line("record", "%s", printable(r.ID))
	status := printable(string(r.Status))
	if !strings.EqualFold(string(r.Status), string(at)) {
		status += ", " + string(at)
	}
	line("status", "%s", status)
	switch {
	case r.Lease.IsZero():
	case r.released():
		line("lease", "ended by a release")
	case r.Lease.Before(now) && at == running:
		line("lease", "ended %s (%s), but counts as live for the clock skew of %v", stamp(r.Lease), relative(r.Lease, now), now.Sub(before))
	case r.Lease.Before(now):
		line("lease", "ended %s (%s)", stamp(r.Lease), relative(r.Lease, now))
	default:
		line("lease", "until %s (%s)", stamp(r.Lease), relative(r.Lease, now))
	}
	if r.Attempt > 0 || r.Refunds > 0 {
		line("attempt", "%d, of which %d count against MaxAttempts", max(r.Attempt, 1), r.Used())
	}
	if !r.Began.IsZero() {
		line("began", "%s (%s)", stamp(r.Began), relative(r.Began, now))
	}
	if text := r.ended(now); text != "" {
		line("ended", "%s", text)
	}
	if r.Owner != "" {
		line("owner", "%s", printable(r.Owner))
	}
	switch {
	case r.Expires.IsZero():
	case r.neverExpires():
		line("expires", "%s (never)", stamp(r.Expires))
	default:
		line("expires", "%s (%s)", stamp(r.Expires), relative(r.Expires, now))
	}
	if r.Fingerprint != "" {
		line("fingerprint", "%s", printable(r.Fingerprint))
	}
	for _, s := range r.steps {
		line("step", "%s", s)
	}
	if r.Request != nil {
		line("request", "%s", r.request())
	}
	line("data", "%s", r.shape())
	line("size", "%d bytes", r.Size)
	for _, p := range r.Problems {
		line("problem", "%s", printable(p))
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// relative returns a time as a person would say it, coarser if it is far. It does
// not use Sub: a Duration ends at 292 years, and records contain the year 9999.
func relative(t, now time.Time) string {
	seconds := now.Unix() - t.Unix()
	if seconds < 0 {
		return "in " + coarse(-seconds)
	}
	return coarse(seconds) + " ago"
}

func coarse(seconds int64) string {
	const minute, day = 60, 24 * 60 * 60
	switch {
	case seconds >= 2*day:
		return fmt.Sprintf("%d days", seconds/day)
	case seconds >= minute:
		return strings.TrimSuffix((time.Duration(seconds/minute) * time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%ds", seconds)
}
