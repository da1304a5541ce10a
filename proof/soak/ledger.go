package soak

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/soak/worker"
)

// ledger contains what the callers of each key were told, and what may explain a
// second execution.
type ledger struct {
	began time.Time

	mu       sync.Mutex
	entries  map[string]*entry // by key
	byRecord map[string]*entry
	killed   map[string]*role // of the worker, by the id of the delivery
	excuses  map[excuse]string
	outcomes map[string]int
	errors   map[string]int
	found    findings // those that need no audit

	calls, deliveries, duplicates int
}

// entry is a key.
type entry struct {
	worker.Request
	record string
	hash   string
	// digests counts the callers that received each result. Of a batch, which has
	// no results, it counts the acknowledgements under "".
	digests  map[string]int
	effects  map[string]string // those of the first result, by slot
	declines int
	// recorded counts the calls that have recorded a result. More than one is
	// wrong whatever the effects are.
	recorded int
	// early are the attempts with a transaction that lost their lease before it could
	// lapse, and lapsed those that took over one that had.
	early, lapsed []int64
	clouded       bool     // a delivery of it ended in an unusual way
	history       []string // the ends of its calls, which explain a finding
}

// excuse identifies an execution: an attempt of a record in a delivery.
type excuse struct {
	delivery, record string
	attempt          int64
}

func newLedger() *ledger {
	return &ledger{
		began: time.Now(), entries: map[string]*entry{}, byRecord: map[string]*entry{}, killed: map[string]*role{},
		excuses: map[excuse]string{}, outcomes: map[string]int{}, errors: map[string]int{},
	}
}

// sent notes a delivery, and makes an entry for each key that has none.
func (l *ledger) sent(messages []message, duplicates int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries++
	l.calls += len(messages)
	l.duplicates += duplicates
	for _, m := range messages {
		if l.entries[m.request.Key] != nil {
			continue
		}
		id, err := idempotent.Key{ID: m.request.Key}.RecordID(string(m.request.Kind))
		if err != nil {
			return err
		}
		e := &entry{Request: m.request, record: id, hash: id[len(m.request.Kind)+1:], digests: map[string]int{}}
		l.entries[e.Key], l.byRecord[id] = e, e
	}
	return nil
}

// dead notes that a process was killed with the delivery.
func (l *ledger) dead(w role, d worker.Delivery, messages []message, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !d.Kind.Batched() {
		w.exposure = 1
	}
	l.killed[d.ID] = &w
	for _, m := range messages {
		e := l.entries[m.request.Key]
		e.clouded = true
		l.happened(e, w, d, killed, 0, took)
	}
}

func (l *ledger) happened(e *entry, w role, d worker.Delivery, outcome string, attempt int64, took time.Duration) {
	now := time.Since(l.began)
	e.history = append(e.history, fmt.Sprintf("%.3f–%.3f s %s by %q: %s, attempt %d",
		(now-took).Seconds(), now.Seconds(), d.ID, w.name, outcome, attempt))
}

// note notes a report, and how long the delivery took.
func (l *ledger) note(w role, d worker.Delivery, messages []message, r worker.Report, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Trouble != "" {
		l.found.add("worker", "", "%s", r.Trouble)
	}
	for _, end := range r.Ends {
		l.outcomes[end.Outcome]++
		e := l.byRecord[end.Record]
		if e == nil {
			l.found.add("unknown record", end.Record, "a call reports it")
			continue
		}
		l.happened(e, w, d, end.Outcome, end.Attempt, took)
		l.noteEnd(e, d, end, took)
	}
	for _, f := range r.Failures {
		i := slices.IndexFunc(messages, func(m message) bool { return m.id == f.ID })
		if i < 0 {
			l.found.add("unexpected error", "", "of an unknown message: %s", f.Type)
			continue
		}
		l.noteFailure(l.entries[messages[i].request.Key], f)
	}
	switch {
	case r.Error != nil && d.Kind.Batched():
		l.unexpected("", *r.Error)
	case r.Error != nil:
		l.noteFailure(l.entries[messages[0].request.Key], *r.Error)
	case r.Result != nil || d.Kind.Batched():
		l.noteSuccess(messages, r)
	}
}

// excusing are the outcomes after which another attempt may repeat the work. The
// call has reported that it does not know, or is not the owner any more.
var excusing = []idempotent.Outcome{idempotent.OutcomeLeaseLost, idempotent.OutcomeUnknown, idempotent.OutcomeTimedOut}

func (l *ledger) noteEnd(e *entry, d worker.Delivery, end worker.End, took time.Duration) {
	o, reason := idempotent.Outcome(end.Outcome), end.Outcome
	if end.Lapsed {
		e.lapsed = append(e.lapsed, end.Attempt)
	}
	if end.Lost {
		reason = string(idempotent.OutcomeLeaseLost)
	}
	switch {
	case o == idempotent.OutcomeExecuted || o == idempotent.OutcomeTakeover:
		e.recorded++
	case end.Lost || slices.Contains(excusing, o):
		l.excuses[excuse{d.ID, end.Record, end.Attempt}] = reason
		e.clouded = true
		// Of work that failed or did not run, the release may have been applied by
		// a copy whose answer was lost, and another call may have claimed since.
		released := end.Stumbled || o == idempotent.OutcomeNotRun
		switch early := reason == string(idempotent.OutcomeLeaseLost) && took < worker.Lease && !released; {
		case early && e.Account > 0: // the same of the release that settles its transaction
			e.early = append(e.early, end.Attempt)
		case early:
			l.found.add("lost lease", e.hash, "within %v, before it could lapse", took)
		}
	}
}

// noteSuccess notes the result of a call, or acknowledges the messages that the answer
// to a batch does not report. Of a stream these are only the ones before the first that
// it reports.
func (l *ledger) noteSuccess(messages []message, r worker.Report) {
	for _, m := range messages {
		if slices.Contains(r.Failed, m.id) {
			if m.request.Kind == worker.Stream {
				return
			}
			continue
		}
		e := l.entries[m.request.Key]
		e.digests[r.Digest]++
		if r.Result == nil {
			continue
		}
		if e.effects == nil {
			e.effects = r.Result.Effects
		}
		if r.Result.Key != e.Key {
			l.found.add("wrong replay", e.hash, "the result is that of another key")
		}
	}
}

// expected are the errors that the weather and the kills cause, and those that the
// work itself returns at random. A caller retries after each.
var expected = []string{
	"*idempotent.InProgressError", "*idempotent.StoreError", "*idempotent.LeaseLostError",
	"*idempotent.OutcomeUnknownError", "*idempotent.TimedOutError", "*idempotent.CompensationError",
	"*dynamo.TransactionError", "*handlers.NotStartedError", "*handlers.UnfinishedError", "*handlers.PanicError",
	"context.deadlineExceededError", // of a step after the caller's own deadline
}

func (l *ledger) noteFailure(e *entry, f worker.Failure) {
	if f.Declined {
		e.declines++
		return
	}
	l.unexpected(e.hash, f)
}

func (l *ledger) unexpected(hash string, f worker.Failure) {
	l.errors[f.Type]++
	if f.Text != worker.Busy && !slices.Contains(expected, f.Type) {
		l.found.add("unexpected error", hash, "%s: %s", f.Type, f.Text)
	}
}
