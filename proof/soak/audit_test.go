package soak

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/worker"
)

// scene is an honest ledger with the tables that belong to it. Each kind of key has
// one finished request; the plain one was repeated after a kill.
type scene struct {
	*ledger
	evidence
	t *testing.T
}

const deadly = "delivery with which a process was killed"

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{ledger: newLedger(), evidence: evidence{accounts: map[string]int{}}, t: t}
	s.add(worker.Request{Key: "plain", Kind: worker.Do})
	s.add(worker.Request{Key: "steps", Kind: worker.Steps, Steps: 2})
	s.add(worker.Request{Key: "saga", Kind: worker.Saga, Steps: 1})
	s.add(worker.Request{Key: "undone", Kind: worker.Saga, Steps: 1, Decline: true})
	s.add(worker.Request{Key: "transaction", Kind: worker.Transaction, Account: 1})
	s.add(worker.Request{Key: "declined", Kind: worker.Transaction, Account: 1, Decline: true})
	s.add(worker.Request{Key: "queued", Kind: worker.Queue})
	s.add(worker.Request{Key: "streamed", Kind: worker.Stream, After: "before"})

	s.dead(role{name: "mortal", exposure: 1}, worker.Delivery{ID: deadly, Kind: worker.Queue}, nil, 0)
	s.effect("plain", worker.Main, deadly)
	s.effect("queued", worker.Main, deadly)
	s.killed[deadly].exposure = 2
	return s
}

func (s *scene) add(r worker.Request) {
	s.t.Helper()
	m := []message{{"m-" + r.Key, r}}
	if err := s.sent(m, 0); err != nil {
		s.t.Fatal(err)
	}
	e := s.entries[r.Key]
	record := stored{id: e.record, status: driver.Completed, digest: "digest of " + r.Key}
	result := &worker.Result{Key: r.Key, Effects: map[string]string{}}
	for _, slot := range wanted(e) {
		result.Effects[slot] = s.effect(r.Key, slot, "fine")
	}
	report := worker.Report{Result: result, Digest: record.digest}
	switch {
	case r.Decline:
		record.status, record.digest, record.decline = driver.Failed, "", true
		report = worker.Report{Error: &worker.Failure{Type: "*main.DeclinedError", Declined: true}}
	case r.Kind.Batched():
		report = worker.Report{}
	}
	report.Ends = []worker.End{{Record: e.record, Outcome: string(idempotent.OutcomeExecuted), Attempt: 1}}
	s.note(role{}, worker.Delivery{ID: "fine", Kind: r.Kind}, m, report, time.Millisecond)
	s.evidence.records = append(s.evidence.records, record)
	if r.Kind == worker.Saga {
		s.evidence.bookings = append(s.evidence.bookings, worker.Effect{Key: r.Key, Slot: worker.Step(0), State: map[bool]string{false: worker.Booked, true: worker.Cancelled}[r.Decline]})
	}
	if r.Account > 0 && !r.Decline {
		s.evidence.accounts[worker.Account(r.Account)]++
	}
}

func (s *scene) effect(key, slot, delivery string) (id string) {
	id = key + " " + slot + " of " + delivery
	s.evidence.effects = append(s.evidence.effects, worker.Effect{ID: id, Key: key, Slot: slot, Delivery: delivery, Attempt: 1})
	return id
}

func (s *scene) record(key string) *stored {
	for i := range s.evidence.records {
		if r := &s.evidence.records[i]; r.id == s.entries[key].record {
			return r
		}
	}
	s.t.Fatalf("no record of %s", key)
	return nil
}

func (s *scene) remove(id string) {
	for i, e := range s.evidence.effects {
		if e.ID == id {
			s.evidence.effects = append(s.evidence.effects[:i], s.evidence.effects[i+1:]...)
			return
		}
	}
	s.t.Fatalf("no effect %s", id)
}

func TestAuditOfAnHonestRunFindsNothing(t *testing.T) {
	s := newScene(t)
	a := audit(s.ledger, s.evidence)
	if err := a.found.err(); err != nil {
		t.Error(err)
	}
	if a.repeated[killed] != 2 || a.worst["mortal"] != 2 {
		t.Errorf("repeated %v, at most %v by one kill; want 2 and 2", a.repeated, a.worst)
	}
}

func TestAuditFinds(t *testing.T) {
	for _, c := range []struct {
		name, key, kind string
		change          func(s *scene)
	}{
		{"an effect that nothing explains", "plain", "double effect", func(s *scene) { s.effect("plain", worker.Main, "another") }},
		{"a step's effect that nothing explains", "steps", "double effect", func(s *scene) { s.effect("steps", worker.Step(1), "another") }},
		{"a queued effect that nothing explains", "queued", "double effect", func(s *scene) { s.effect("queued", worker.Main, "another") }},
		{"two effects of transactions, even after a kill", "transaction", "double effect", func(s *scene) {
			s.killed[deadly].exposure = 3
			s.effect("transaction", worker.Main, deadly)
		}},
		{"more repetitions than a kill exposes", "", "exposure", func(s *scene) { s.killed[deadly].exposure = 1 }},
		{"a missing effect", "queued", "lost effect", func(s *scene) {
			s.remove("queued main of fine")
			s.remove("queued main of " + deadly)
		}},
		{"a result whose effect is missing", "steps", "lost effect", func(s *scene) {
			s.remove("steps step-1 of fine")
			s.effect("steps", worker.Step(1), "another")
		}},
		{"an effect of declined work", "declined", "effect", func(s *scene) { s.effect("declined", worker.Main, "fine") }},
		{"a record of a stream out of order", "streamed", "order", func(s *scene) {
			for i := range s.evidence.effects {
				e := &s.evidence.effects[i]
				e.Early = e.Key == "streamed"
			}
		}},
		{"callers with different results", "plain", "wrong replay", func(s *scene) { s.entries["plain"].digests["another"]++ }},
		{"a success of declined work", "declined", "wrong replay", func(s *scene) { s.entries["declined"].digests["digest"]++ }},
		{"a failure of work that succeeds", "plain", "wrong replay", func(s *scene) { s.entries["plain"].declines++ }},
		{"another stored result", "plain", "wrong replay", func(s *scene) { s.record("plain").digest = "another" }},
		{"another stored error", "declined", "wrong replay", func(s *scene) { s.record("declined").decline = false }},
		{"a stored failure of work that succeeds", "plain", "record", func(s *scene) { s.record("plain").status = driver.Failed }},
		{"two calls that recorded", "plain", "second record", func(s *scene) { s.entries["plain"].recorded++ }},
		{"a leaked lease", "queued", "leaked lease", func(s *scene) { s.record("queued").status = driver.InProgress }},
		{"steps of a finished record", "steps", "leftover", func(s *scene) { s.record("steps").steps = true }},
		{"the lease of a finished record", "steps", "leftover", func(s *scene) { s.record("steps").lease = true }},
		{"a key that nobody was told about", "streamed", "unfinished", func(s *scene) { clear(s.entries["streamed"].digests) }},
		{"a booking that is not cancelled", "undone", "saga", func(s *scene) { s.evidence.bookings[1].State = worker.Booked }},
		{"a booking that is cancelled", "saga", "saga", func(s *scene) { s.evidence.bookings[0].State = worker.Cancelled }},
		{"a missing booking", "saga", "saga", func(s *scene) { s.evidence.bookings = s.evidence.bookings[1:] }},
		{"a transaction that was booked twice", "", "account", func(s *scene) { s.evidence.accounts[worker.Account(1)]++ }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.change(s)
			all := audit(s.ledger, s.evidence).found
			hash := ""
			if c.key != "" {
				hash = s.entries[c.key].hash
			}
			found := false
			for _, f := range all {
				found = found || f.Kind == c.kind && (hash == "" || f.Hash == hash)
				if hash != "" && f.Hash != hash {
					t.Errorf("found %v, of another key", f)
				}
			}
			if !found {
				t.Errorf("found %v, want a %s of %s", all, c.kind, c.key)
			}
		})
	}
}

// A call that reports a lost lease explains the repetition of its own attempt, and of
// no other.
func TestAReportExplainsItsOwnAttemptAlone(t *testing.T) {
	for attempt, want := range map[int64]int{1: 0, 2: 1} {
		s := newScene(t)
		e := s.entries["plain"]
		s.effect("plain", worker.Main, "frozen")
		s.note(role{}, worker.Delivery{ID: "frozen", Kind: worker.Do}, []message{{"", e.Request}}, worker.Report{
			Error: &worker.Failure{Type: "*idempotent.LeaseLostError"},
			Ends:  []worker.End{{Record: e.record, Outcome: string(idempotent.OutcomeLeaseLost), Attempt: attempt}},
		}, worker.Lease)
		if v := audit(s.ledger, s.evidence).found; len(v) != want {
			t.Errorf("a report of attempt %d: found %v, want %d", attempt, v, want)
		}
	}
}

// The release that settles a transaction may be applied although its answer was lost, so
// that a successor claims the record within the lease. It takes over no lapsed lease.
func TestLeaseOfATransactionIsLostEarlyOnlyAfterARelease(t *testing.T) {
	for lapsed, want := range map[bool]int{false: 0, true: 1} {
		s := newScene(t)
		e := s.entries["plain"]
		e.Account = 1
		for _, end := range []worker.End{
			{Record: e.record, Outcome: string(idempotent.OutcomeLeaseLost), Attempt: 1},
			{Record: e.record, Outcome: string(idempotent.OutcomeReleased), Attempt: 2, Lapsed: lapsed},
		} {
			s.note(role{}, worker.Delivery{Kind: worker.Transaction}, []message{{"", e.Request}}, worker.Report{Ends: []worker.End{end}}, time.Millisecond)
		}
		var found findings
		for _, f := range audit(s.ledger, s.evidence).found {
			if f.Kind == "lost lease" {
				found = append(found, f)
			}
		}
		if len(found) != want {
			t.Errorf("lapsed %v: found %v, want %d", lapsed, found, want)
		}
	}
}

func TestLedgerFindsUnexpectedReports(t *testing.T) {
	for _, c := range []struct {
		kind   string
		report worker.Report
	}{
		{"unexpected error", worker.Report{Error: &worker.Failure{Type: "*idempotent.KeyReusedError"}}},
		{"wrong replay", worker.Report{Result: &worker.Result{Key: "of another"}, Digest: "digest of plain"}},
		{"worker", worker.Report{Trouble: "a call panics"}},
		{"unknown record", worker.Report{Ends: []worker.End{{Record: "do#unknown"}}}},
		{"lost lease", worker.Report{Ends: []worker.End{{Record: newScene(t).entries["plain"].record, Outcome: string(idempotent.OutcomeLeaseLost)}}}},
	} {
		s := newScene(t)
		s.note(role{}, worker.Delivery{Kind: worker.Do}, []message{{"", s.entries["plain"].Request}}, c.report, time.Millisecond)
		if v := audit(s.ledger, s.evidence).found; len(v) != 1 || v[0].Kind != c.kind {
			t.Errorf("found %v, want a %s", v, c.kind)
		}
	}
}

func TestGrowthIsFound(t *testing.T) {
	before := map[string]worker.Sample{"alone": {Goroutines: 10, Heap: 4 << 20}}
	for _, c := range []struct {
		after worker.Sample
		want  int
	}{
		{worker.Sample{Goroutines: 10 + moreGoroutines, Heap: 5<<20 + moreHeap}, 0},
		{worker.Sample{Goroutines: 11 + moreGoroutines, Heap: 4 << 20}, 1},
		{worker.Sample{Goroutines: 10, Heap: 6<<20 + moreHeap}, 1},
	} {
		var got findings
		if got.flat(before, map[string]worker.Sample{"alone": c.after}); len(got) != c.want {
			t.Errorf("%+v: found %v, want %d", c.after, got, c.want)
		}
	}
}
