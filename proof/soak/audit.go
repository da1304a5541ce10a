package soak

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/worker"
)

// evidence is what the tables contain at the end.
type evidence struct {
	records  []stored
	effects  []worker.Effect // without bookings
	bookings []worker.Effect
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

// auditor judges the ledger with the evidence.
type auditor struct {
	*ledger
	found findings // with those of the ledger, which other audits may read
	// repeated counts the executions whose effects another one superseded, by
	// their reason.
	repeated map[string]int
	// worst is the largest number of executions that one kill repeated, by role,
	// of batches.
	worst   map[string]int
	perKill map[string]int // executions that were repeated, by delivery
}

// audit compares what callers were told with what is stored. Every key must have
// been driven to its end before.
func audit(l *ledger, ev evidence) *auditor {
	a := &auditor{l, slices.Clone(l.found), map[string]int{}, map[string]int{}, map[string]int{}}
	records := map[string]stored{}
	for _, r := range ev.records {
		records[r.id] = r
		if a.byRecord[r.id] == nil {
			a.found.add("unknown record", r.id, "nobody has called with its key")
		}
	}
	effects, bookings, transactions := a.group(ev.effects), a.group(ev.bookings), map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[key]
		a.told(e)
		a.leases(e)
		a.recordOf(e, records)
		a.executions(e, effects[key])
		a.bookings(e, bookings[key])
		if e.Account > 0 && !e.Decline {
			transactions[worker.Account(e.Account)]++
		}
	}
	a.kills()
	for _, account := range slices.Sorted(maps.Keys(transactions)) {
		if got, want := ev.accounts[account], transactions[account]; got != want {
			a.found.add("account", account, "has %d bookings, want %d", got, want)
		}
	}
	return a
}

// group returns effects by key, those of the first attempt first.
func (a *auditor) group(effects []worker.Effect) map[string][]worker.Effect {
	all := map[string][]worker.Effect{}
	slices.SortFunc(effects, func(a, b worker.Effect) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
	})
	for _, f := range effects {
		if a.entries[f.Key] == nil {
			a.found.add("effect", f.Key, "of an unknown key")
		}
		all[f.Key] = append(all[f.Key], f)
	}
	return all
}

// told requires that all callers of a key were told the same.
func (a *auditor) told(e *entry) {
	switch {
	case len(e.digests) == 0 && e.declines == 0:
		a.found.add("unfinished", e.hash, "nobody was told how it ended")
	case len(e.digests) > 1:
		a.found.add("wrong replay", e.hash, "callers received %d different results", len(e.digests))
	case len(e.digests) > 0 && e.Decline:
		a.found.add("wrong replay", e.hash, "a caller was told that work which fails for good has succeeded")
	case e.declines > 0 && !e.Decline:
		a.found.add("wrong replay", e.hash, "a caller was told that work has failed which does not")
	}
	if e.recorded > 1 {
		a.found.add("second record", e.hash, "%d calls have recorded their own result", e.recorded)
	}
}

// leases requires that no lease lapsed before its time. The attempt after one that has
// released its record takes over no lease.
func (a *auditor) leases(e *entry) {
	for _, attempt := range e.early {
		if slices.Contains(e.lapsed, attempt+1) {
			a.found.add("lost lease", e.hash, "of attempt %d, before it could lapse", attempt)
		}
	}
}

// recordOf requires a finished record, which agrees with the answers to callers.
func (a *auditor) recordOf(e *entry, records map[string]stored) {
	r, ok := records[e.record]
	want := driver.Completed
	if e.Decline {
		want = driver.Failed
	}
	switch {
	case !ok:
		a.found.add("record", e.hash, "is gone")
	case r.err != nil:
		a.found.add("record", e.hash, "does not decode: %v", r.err)
	case r.status == driver.InProgress:
		a.found.add("leaked lease", e.hash, "in progress, although its key was driven to its end")
	case r.status != want:
		a.found.add("record", e.hash, "is %s, want %s", r.status, want)
	case r.steps, r.lease:
		a.found.add("leftover", e.hash, "a finished record has steps: %v, a lease: %v", r.steps, r.lease)
	case e.Decline && !r.decline:
		a.found.add("wrong replay", e.hash, "another error is stored")
	case !e.Decline && e.effects != nil && e.digests[r.digest] == 0:
		a.found.add("wrong replay", e.hash, "another result is stored than callers received")
	}
}

// bookings requires that a saga has either all of its bookings or none.
func (a *auditor) bookings(e *entry, all []worker.Effect) {
	want := worker.Booked
	if e.Decline {
		want = worker.Cancelled
	}
	for _, b := range all {
		if b.State != want {
			a.found.add("saga", e.hash, "%s is %s, want %s", b.Slot, b.State, want)
		}
	}
	if e.Kind == worker.Saga && len(all) != e.Steps {
		a.found.add("saga", e.hash, "%d bookings, want %d", len(all), e.Steps)
	}
}
