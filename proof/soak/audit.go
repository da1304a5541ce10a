package soak

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// evidence is what the tables contain at the end.
type evidence struct {
	records  []stored
	effects  []job.Effect // without bookings
	bookings []job.Effect
	accounts map[string]int // balances
}

// stored is a record as the audit needs it.
type stored struct {
	id      string
	status  driver.Status
	steps   bool // there is an attribute for them
	lease   bool
	digest  string // of a result
	decline bool   // the stored error is the work's own
	err     error  // it does not decode
}

// verdict is the result of an audit.
type verdict struct {
	findings []finding
	// repeated counts the executions whose effects another one superseded, by
	// their reason.
	repeated map[string]int
	// worst is the largest number of executions that one kill repeated, by role,
	// of batches.
	worst map[string]int
}

// audit compares what callers were told with what is stored. Every key must have
// been driven to its end before.
func audit(l *ledger, ev evidence) verdict {
	a := auditor{ledger: l, out: verdict{repeated: map[string]int{}, worst: map[string]int{}}, perKill: map[string]int{}}
	a.out.findings = slices.Clone(l.findings)
	a.records(ev.records)
	bySlot := a.group(ev.effects)
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[key]
		a.told(e)
		a.executions(e, bySlot[key])
	}
	a.kills()
	a.bookings(ev.bookings)
	a.accounts(ev.accounts)
	return a.out
}

type auditor struct {
	*ledger
	out     verdict
	perKill map[string]int // executions that were repeated, by delivery
}

func (a *auditor) find(kind, hash, format string, args ...any) {
	a.out.findings = append(a.out.findings, finding{kind, hash, fmt.Sprintf(format, args...)})
}

// told requires that all callers of a key were told the same.
func (a *auditor) told(e *entry) {
	switch {
	case len(e.digests) == 0 && e.declines == 0:
		a.find("unfinished", e.hash, "nobody was told how it ended")
	case len(e.digests) > 1:
		a.find("wrong replay", e.hash, "callers received %d different results", len(e.digests))
	case len(e.digests) > 0 && e.Decline:
		a.find("wrong replay", e.hash, "a caller was told that work which fails for good has succeeded")
	case e.declines > 0 && !e.Decline:
		a.find("wrong replay", e.hash, "a caller was told that work has failed which does not")
	}
	if e.recorded > 1 {
		a.find("second record", e.hash, "%d calls have recorded their own result", e.recorded)
	}
}

// records requires one finished record of each key, with what callers were told.
func (a *auditor) records(all []stored) {
	seen := map[string]bool{}
	for _, r := range all {
		e := a.byRecord[r.id]
		if e == nil {
			a.find("unknown record", r.id, "nobody has called with its key")
			continue
		}
		seen[r.id] = true
		want := driver.Completed
		if e.Decline {
			want = driver.Failed
		}
		switch {
		case r.err != nil:
			a.find("record", e.hash, "does not decode: %v", r.err)
		case r.status == driver.InProgress:
			a.find("leaked lease", e.hash, "in progress, although its key was driven to its end")
		case r.status != want:
			a.find("record", e.hash, "is %s, want %s", r.status, want)
		case r.steps, r.lease:
			a.find("leftover", e.hash, "a finished record has steps: %v, a lease: %v", r.steps, r.lease)
		case e.Decline && !r.decline:
			a.find("wrong replay", e.hash, "another error is stored")
		case !e.Decline && e.effects != nil && e.digests[r.digest] == 0:
			a.find("wrong replay", e.hash, "another result is stored than callers received")
		}
	}
	for id, e := range a.byRecord {
		if !seen[id] {
			a.find("record", e.hash, "is gone")
		}
	}
}

// bookings requires that a saga has either all of its bookings or none.
func (a *auditor) bookings(all []job.Effect) {
	count := map[string]int{}
	for _, b := range all {
		e := a.entries[b.Key]
		if e == nil {
			a.find("effect", b.Key, "a booking of an unknown key")
			continue
		}
		count[b.Key]++
		want := job.Booked
		if e.Decline {
			want = job.Cancelled
		}
		if b.State != want {
			a.find("saga", e.hash, "%s is %s, want %s", b.Slot, b.State, want)
		}
	}
	for key, e := range a.entries {
		if e.Kind == job.Saga && count[key] != e.Steps {
			a.find("saga", e.hash, "%d bookings, want %d", count[key], e.Steps)
		}
	}
}

// accounts requires that every transaction was booked once.
func (a *auditor) accounts(balances map[string]int) {
	want := map[string]int{}
	for _, e := range a.entries {
		if transactional(e.Request) && !e.Decline {
			want[job.Account(e.Account)]++
		}
	}
	for _, account := range slices.Sorted(maps.Keys(want)) {
		if balances[account] != want[account] {
			a.find("account", account, "has %d bookings, want %d", balances[account], want[account])
		}
	}
}

func transactional(r job.Request) bool { return r.Account > 0 }
