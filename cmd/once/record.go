package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/form"
)

// record is a record as an operator sees it.
type record struct {
	driver.Entry
	steps   []step
	undoing bool // the call has failed for good
}

// newRecord reads the steps, and from those of package idempotent which are undone.
func newRecord(e driver.Entry) *record {
	r := &record{Entry: e}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		switch {
		case name == form.FailureStep:
			r.undoing = true
		case name == form.BudgetStep, strings.HasPrefix(name, form.UndoStep):
		default:
			s := newStep(name, e.Steps[name])
			if _, undone := e.Steps[form.UndoStep+name]; undone {
				s.Undo = "done"
			}
			r.steps = append(r.steps, s)
		}
	}
	return r
}

// operation returns the first part of the id. In records of Powertools it is the
// name of a function.
func (r *record) operation() string { return r.ID[:max(strings.Index(r.ID, "#"), 0)] }

// neverExpires reports whether the record stays for ever, as those of operations
// with MaxAttempts do.
func (r *record) neverExpires() bool { return r.Expires.IsZero() || r.Expires.UTC().Year() >= 9999 }

// foreign reports whether a different library wrote the record: it has neither owner nor
// attempt.
func (r *record) foreign() bool { return r.Owner == "" && r.Attempt == 0 }

// execution returns the ARN of the durable execution that owns the record, or "" if its
// function does not store one, and whether one owns it.
func (r *record) execution() (arn string, owns bool) {
	owner, owns := strings.CutPrefix(r.Owner, "execution-")
	_, arn, _ = strings.Cut(owner, ":")
	return arn, owns
}

// lastInvocation is what stopping an execution does not do.
const lastInvocation = "stopping an execution does not stop its last invocation, which may still have effects until its next checkpoint, or until the function's timeout (at most 15 min, and 90 min on Managed Instances)"

// released reports whether the lease was ended by a release.
func (r *record) released() bool { return r.Lease.Equal(driver.LeaseEnded) }

// state is how a call would treat the record.
type state string

const (
	running   state = "running"   // a lease is live
	leaseless state = "leaseless" // in progress without a lease: Powertools'
	lapsed    state = "lapsed"    // the lease has ended, and no call has taken over
	released  state = "released"  // released, and no call has claimed it since
	completed state = "completed"
	failed    state = "failed"
	over      state = "over" // retention has ended: the next call runs
	unknown   state = "unknown"
)

// at returns the state as package idempotent sees it. before is the current time,
// moved back by the clock skew.
func (r *record) at(before time.Time) state {
	switch {
	case r.Status != driver.Absent && r.Expired(before):
		return over
	case r.Status == driver.Completed:
		return completed
	case r.Status == driver.Failed:
		return failed
	case r.Status != driver.InProgress:
		return unknown
	case r.Lease.IsZero():
		return leaseless
	case r.released():
		return released
	case r.Lapsed(before):
		return lapsed
	}
	return running
}

// next is what the next call gets.
type next string

const (
	nextFails   next = "fails"
	nextReplays next = "replays" // it gets the stored result, or error
	nextRuns    next = "runs"    // unless MaxAttempts or ProviderMemory of its function forbid it
	nextUndoes  next = "undoes"
	nextWaits   next = "waits" // or is refused
	nextAsks    next = "asks"  // the service of durable executions, and then waits or runs
)

func (r *record) next(s state) next {
	arn, _ := r.execution()
	switch {
	case len(r.Problems) > 0 && s != over:
		return nextFails // whatever its status
	case s == lapsed && arn != "":
		return nextAsks
	}
	switch s {
	case running, leaseless:
		return nextWaits
	case lapsed, released:
		if r.undoing {
			return nextUndoes
		}
		return nextRuns
	case over:
		return nextRuns
	case completed, failed:
		return nextReplays
	}
	return nextFails
}

// request describes the stored request without showing it, or returns "" if there is none.
func (r *record) request() string {
	if r.Request == nil {
		return ""
	}
	content := form.DecodeStep(r.Request)
	key, sealed := seal.KeyID(content.Data)
	switch {
	case content.Payload != "":
		return "kept elsewhere: " + printable(content.Payload)
	case content.Unavailable != "":
		return "cannot be read"
	case sealed:
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(content.Data))
	}
	return fmt.Sprintf("%d bytes", len(content.Data))
}

// shape describes the stored result without showing it.
func (r *record) shape() string {
	key, sealed := seal.KeyID(r.Data)
	switch {
	case r.Payload != "":
		return "kept elsewhere: " + printable(r.Payload)
	case r.Unavailable != "":
		return "unavailable, the reason of " + digest([]byte(r.Unavailable))
	case sealed:
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(r.Data))
	case r.Data == nil:
		return "none"
	case utf8.Valid(r.Data):
		return "text of " + digest(r.Data)
	}
	return "binary of " + digest(r.Data)
}

func digest(data []byte) string {
	return fmt.Sprintf("%d bytes, SHA-256 %.12x", len(data), sha256.Sum256(data))
}

// printable quotes a text that would control the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// step is a finished step of a handler.
type step struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// Kept is where its result is: "result" for in the record. An "internal" step is
	// one of the protocol, not of a handler.
	Kept string `json:"kept"`
	Undo string `json:"undo,omitempty"`
}

func newStep(name string, stored []byte) step {
	s := step{Name: name, Bytes: len(stored), Kept: "unknown"}
	switch content := form.DecodeStep(stored); {
	case strings.HasPrefix(name, form.InternalStep):
		s.Kept = "internal"
	case form.IsLost(stored):
		s.Kept = "nothing"
	case content.Payload != "":
		s.Kept = "elsewhere"
	case content.Unavailable == "":
		s.Kept = "result"
	}
	return s
}

// saga describes a failure with steps that are undone after it.
type saga struct {
	Type string `json:"type,omitempty"` // of the error
	// Undo are the steps to undo, in that order, of a call that has failed
	// permanently and is not finished.
	Undo []string `json:"undo,omitempty"`
	// Undone are the steps that were undone, of a call that is finished.
	Undone []string `json:"undone,omitempty"`
}

// saga reads the failure as the functions do, and returns nil if there is none. A
// failure that is sealed or broken leaves its fields empty.
func (r *record) saga() *saga {
	text := r.Data
	if r.undoing {
		text = form.DecodeStep(r.Steps[form.FailureStep]).Data
	}
	var f form.SagaFailure
	if json.Unmarshal(text, &f) != nil {
		f.Type = ""
	}
	if !r.undoing && (r.Status != driver.Failed || len(f.Compensated) == 0) {
		return nil
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.Undo == "" && slices.Contains(f.Steps, s.Name) {
			s.Undo = "pending"
		}
	}
	return &saga{Type: f.Type, Undo: f.Steps, Undone: f.Compensated}
}

var inWords = map[string]string{
	"nothing": ", no result", "elsewhere": ", its result elsewhere", "unknown": ", not Once's",
	"internal": ", Once's own, which a newer version writes", "done": ", undone", "pending": ", to be undone",
}

func (s step) String() string {
	return fmt.Sprintf("%s, %d bytes%s%s", printable(s.Name), s.Bytes, inWords[s.Kept], inWords[s.Undo])
}

func (s *saga) print(w io.Writer) {
	switch {
	case s == nil:
	case len(s.Undone) > 0:
		fmt.Fprintf(w, "%-12s %s\n", "undone", printable(strings.Join(s.Undone, ", ")))
	default:
		fmt.Fprintf(w, "%-12s for good, with %s\n", "failed", cmp.Or(printable(s.Type), "an error that cannot be read"))
	}
}
