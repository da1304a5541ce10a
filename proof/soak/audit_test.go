package soak

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/internal/job"
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
	s.add(job.Request{Key: "plain", Kind: job.Do})
	s.add(job.Request{Key: "steps", Kind: job.Steps, Steps: 2})
	s.add(job.Request{Key: "saga", Kind: job.Saga, Steps: 1})
	s.add(job.Request{Key: "undone", Kind: job.Saga, Steps: 1, Decline: true})
	s.add(job.Request{Key: "transaction", Kind: job.Transaction, Account: 1})
	s.add(job.Request{Key: "declined", Kind: job.Transaction, Account: 1, Decline: true})
	s.add(job.Request{Key: "queued", Kind: job.Queue})
	s.add(job.Request{Key: "streamed", Kind: job.Stream, After: "before"})

	s.dead(role{name: "mortal", exposure: 1}, job.Delivery{ID: deadly, Kind: job.Queue}, nil, 0)
	s.effect("plain", job.Main, deadly)
	s.effect("queued", job.Main, deadly)
	s.killed[deadly].exposure = 2
	return s
}

func (s *scene) add(r job.Request) {
	s.t.Helper()
	m := []message{{"m-" + r.Key, r}}
	if err := s.open(m); err != nil {
		s.t.Fatal(err)
	}
	e := s.entries[r.Key]
	record := stored{id: e.record, status: driver.Completed, digest: "digest of " + r.Key}
	slots := wanted(e)
	result := &job.Result{Key: r.Key, Effects: map[string]string{}}
	for _, slot := range slots {
		result.Effects[slot] = s.effect(r.Key, slot, "fine")
	}
	report := job.Report{Result: result, Digest: record.digest}
	batch := r.Kind == job.Queue || r.Kind == job.Stream
	switch {
	case r.Decline:
		record.status, record.digest, record.decline = driver.Failed, "", true
		report = job.Report{Error: &job.Failure{Type: "*main.DeclinedError", Declined: true}}
	case batch:
		report = job.Report{}
	}
	report.Ends = []job.End{{Record: e.record, Outcome: string(idempotent.OutcomeExecuted), Attempt: 1}}
	s.note(role{}, job.Delivery{ID: "fine", Kind: r.Kind}, m, report, time.Millisecond)
	s.evidence.records = append(s.evidence.records, record)
	if r.Kind == job.Saga {
		s.evidence.bookings = append(s.evidence.bookings, job.Effect{Key: r.Key, Slot: job.Step(0), State: map[bool]string{false: job.Booked, true: job.Cancelled}[r.Decline]})
	}
	if r.Account > 0 && !r.Decline {
		s.evidence.accounts[job.Account(r.Account)]++
	}
}

func (s *scene) effect(key, slot, delivery string) (id string) {
	id = key + " " + slot + " of " + delivery
	s.evidence.effects = append(s.evidence.effects, job.Effect{ID: id, Key: key, Slot: slot, Delivery: delivery, Attempt: 1})
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
	v := audit(s.ledger, s.evidence)
	if err := v.err(); err != nil {
		t.Error(err)
	}
	if v.repeated[killed] != 2 || v.worst["mortal"] != 2 {
		t.Errorf("repeated %v, at most %v by one kill; want 2 and 2", v.repeated, v.worst)
	}
}

func TestAuditFinds(t *testing.T) {
	for _, c := range []struct {
		name, key, kind string
		change          func(s *scene)
	}{
		{"an effect that nothing explains", "plain", "double effect", func(s *scene) { s.effect("plain", job.Main, "another") }},
		{"a step's effect that nothing explains", "steps", "double effect", func(s *scene) { s.effect("steps", job.Step(1), "another") }},
		{"a queued effect that nothing explains", "queued", "double effect", func(s *scene) { s.effect("queued", job.Main, "another") }},
		{"two effects of transactions, even after a kill", "transaction", "double effect", func(s *scene) {
			s.killed[deadly].exposure = 3
			s.effect("transaction", job.Main, deadly)
		}},
		{"more repetitions than a kill exposes", "", "exposure", func(s *scene) { s.killed[deadly].exposure = 1 }},
		{"a missing effect", "queued", "lost effect", func(s *scene) {
			s.remove("queued main of fine")
			s.remove("queued main of " + deadly)
		}},
		{"a result whose effect is missing", "steps", "lost effect", func(s *scene) {
			s.remove("steps step-1 of fine")
			s.effect("steps", job.Step(1), "another")
		}},
		{"an effect of declined work", "declined", "effect", func(s *scene) { s.effect("declined", job.Main, "fine") }},
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
		{"a booking that is not cancelled", "undone", "saga", func(s *scene) { s.evidence.bookings[1].State = job.Booked }},
		{"a booking that is cancelled", "saga", "saga", func(s *scene) { s.evidence.bookings[0].State = job.Cancelled }},
		{"a missing booking", "saga", "saga", func(s *scene) { s.evidence.bookings = s.evidence.bookings[1:] }},
		{"a transaction that was booked twice", "", "account", func(s *scene) { s.evidence.accounts[job.Account(1)]++ }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.change(s)
			v := audit(s.ledger, s.evidence)
			hash := ""
			if c.key != "" {
				hash = s.entries[c.key].hash
			}
			found := false
			for _, f := range v.findings {
				found = found || f.Kind == c.kind && (hash == "" || f.Hash == hash)
				if hash != "" && f.Hash != hash {
					t.Errorf("found %v, of another key", f)
				}
			}
			if !found {
				t.Errorf("found %v, want a %s of %s", v.findings, c.kind, c.key)
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
		s.effect("plain", job.Main, "frozen")
		s.note(role{}, job.Delivery{ID: "frozen", Kind: job.Do}, []message{{"", e.Request}}, job.Report{
			Error: &job.Failure{Type: "*idempotent.LeaseLostError"},
			Ends:  []job.End{{Record: e.record, Outcome: string(idempotent.OutcomeLeaseLost), Attempt: attempt}},
		}, lease)
		if v := audit(s.ledger, s.evidence); len(v.findings) != want {
			t.Errorf("a report of attempt %d: found %v, want %d", attempt, v.findings, want)
		}
	}
}

func TestLedgerFindsUnexpectedReports(t *testing.T) {
	for _, c := range []struct {
		kind   string
		report job.Report
	}{
		{"unexpected error", job.Report{Error: &job.Failure{Type: "*idempotent.KeyReusedError"}}},
		{"wrong replay", job.Report{Result: &job.Result{Key: "of another"}, Digest: "digest of plain"}},
		{"worker", job.Report{Trouble: "a call panics"}},
		{"unknown record", job.Report{Ends: []job.End{{Record: "do#unknown"}}}},
		{"lost lease", job.Report{Ends: []job.End{{Record: newScene(t).entries["plain"].record, Outcome: string(idempotent.OutcomeLeaseLost)}}}},
	} {
		s := newScene(t)
		s.note(role{}, job.Delivery{Kind: job.Do}, []message{{"", s.entries["plain"].Request}}, c.report, time.Millisecond)
		if v := audit(s.ledger, s.evidence); len(v.findings) != 1 || v.findings[0].Kind != c.kind {
			t.Errorf("found %v, want a %s", v.findings, c.kind)
		}
	}
}

func TestGrowthIsFound(t *testing.T) {
	before := map[string]job.Sample{"alone": {Goroutines: 10, Heap: 4 << 20}}
	for _, c := range []struct {
		after job.Sample
		want  int
	}{
		{job.Sample{Goroutines: 10 + moreGoroutines, Heap: 5<<20 + moreHeap}, 0},
		{job.Sample{Goroutines: 11 + moreGoroutines, Heap: 4 << 20}, 1},
		{job.Sample{Goroutines: 10, Heap: 6<<20 + moreHeap}, 1},
	} {
		if got := flat(before, map[string]job.Sample{"alone": c.after}); len(got) != c.want {
			t.Errorf("%+v: found %v, want %d", c.after, got, c.want)
		}
	}
}
