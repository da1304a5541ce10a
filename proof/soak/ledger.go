package soak

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// ledger contains what the callers of each key were told, and what may explain a
// second execution.
type ledger struct {
	began time.Time

	mu       sync.Mutex
	entries  map[string]*entry // by key
	byRecord map[string]*entry
	killed   map[string]*killedDelivery // by id
	excuses  map[excuse]string
	outcomes map[string]int
	errors   map[string]int
	findings []finding // what needs no audit

	calls, deliveries, duplicates int
}

// entry is a key.
type entry struct {
	job.Request
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
	clouded  bool // a delivery of it ended in an unusual way
	history  []happening
}

// excuse identifies an execution: an attempt of a record in a delivery.
type excuse struct {
	delivery, record string
	attempt          int64
}

type killedDelivery struct {
	role     string
	exposure int
}

// message is a request on its way, with the id of the message that carries it.
type message struct {
	id      string
	request job.Request
}

func newLedger() *ledger {
	return &ledger{
		began: time.Now(), entries: map[string]*entry{}, byRecord: map[string]*entry{}, killed: map[string]*killedDelivery{},
		excuses: map[excuse]string{}, outcomes: map[string]int{}, errors: map[string]int{},
	}
}

// open makes an entry for each key that has none.
func (l *ledger) open(messages []message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *ledger) sent(calls, duplicates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries++
	l.calls += calls
	l.duplicates += duplicates
}

// dead notes that a process was killed with the delivery.
func (l *ledger) dead(w role, d job.Delivery, messages []message, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.began)
	k := &killedDelivery{role: w.name, exposure: 1}
	if d.Kind == job.Queue || d.Kind == job.Stream {
		k.exposure = w.exposure
	}
	l.killed[d.ID] = k
	for _, m := range messages {
		e := l.entries[m.request.Key]
		e.clouded = true
		e.history = append(e.history, happening{now - took, now, d.ID, w.name, killed, 0})
	}
}

// excusing are the outcomes after which another attempt may repeat the work. The
// call has reported that it does not know, or is not the owner any more.
var excusing = []idempotent.Outcome{idempotent.OutcomeLeaseLost, idempotent.OutcomeUnknown, idempotent.OutcomeTimedOut}

// note notes a report, and how long the delivery took.
func (l *ledger) note(w role, d job.Delivery, messages []message, r job.Report, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.began)
	if r.Trouble != "" {
		l.find(finding{Kind: "worker", Detail: r.Trouble})
	}
	for _, end := range r.Ends {
		l.outcomes[end.Outcome]++
		e := l.byRecord[end.Record]
		if e == nil {
			l.find(finding{Kind: "unknown record", Hash: end.Record, Detail: "a call reports it"})
			continue
		}
		e.history = append(e.history, happening{now - took, now, d.ID, w.name, end.Outcome, end.Attempt})
		switch o := idempotent.Outcome(end.Outcome); {
		case o == idempotent.OutcomeExecuted || o == idempotent.OutcomeTakeover:
			e.recorded++
		case end.Lost || slices.Contains(excusing, o):
			reason := end.Outcome
			if end.Lost {
				reason = string(idempotent.OutcomeLeaseLost)
			}
			l.excuses[excuse{d.ID, end.Record, end.Attempt}] = reason
			e.clouded = true
			// Of work that failed or did not run, the release may have been applied by
			// a copy whose answer was lost, and another call may have claimed since.
			released := end.Stumbled || o == idempotent.OutcomeNotRun
			if reason == string(idempotent.OutcomeLeaseLost) && took < lease && !released {
				l.find(finding{Kind: "lost lease", Hash: e.hash, Detail: fmt.Sprintf("within %v, before it could lapse", took)})
			}
		}
	}
	switch {
	case d.Kind == job.Queue || d.Kind == job.Stream:
		l.noteBatch(messages, r)
	case r.Error != nil:
		l.noteFailure(l.entries[messages[0].request.Key], *r.Error)
	case r.Result != nil:
		e := l.entries[messages[0].request.Key]
		e.digests[r.Digest]++
		if e.effects == nil {
			e.effects = r.Result.Effects
		}
		if r.Result.Key != e.Key {
			l.find(finding{Kind: "wrong replay", Hash: e.hash, Detail: "the result is that of another key"})
		}
	}
}

// noteBatch acknowledges the messages that the answer does not report. Of a stream
// these are only the ones before the first that it reports.
func (l *ledger) noteBatch(messages []message, r job.Report) {
	for _, f := range r.Failures {
		i := slices.IndexFunc(messages, func(m message) bool { return m.id == f.ID })
		if i < 0 {
			l.find(finding{Kind: "unexpected error", Detail: "of an unknown message: " + f.Type})
			continue
		}
		l.noteFailure(l.entries[messages[i].request.Key], f)
	}
	if r.Error != nil {
		l.unexpected("", *r.Error)
		return
	}
	for _, m := range messages {
		if slices.Contains(r.Failed, m.id) {
			if m.request.Kind == job.Stream {
				return
			}
			continue
		}
		l.entries[m.request.Key].digests[""]++
	}
}

func (l *ledger) noteFailure(e *entry, f job.Failure) {
	if f.Declined {
		e.declines++
		return
	}
	l.unexpected(e.hash, f)
}

// expected are the errors that the weather and the kills cause, and those that the
// work itself returns at random. A caller retries after each.
var expected = []string{
	"*idempotent.InProgressError", "*idempotent.StoreError", "*idempotent.LeaseLostError",
	"*idempotent.OutcomeUnknownError", "*idempotent.TimedOutError", "*idempotent.CompensationError",
	"*dynamo.TransactionError", "*handlers.NotStartedError", "*handlers.UnfinishedError", "*handlers.PanicError", "panic",
	"context.deadlineExceededError", // of a step after the caller's own deadline
}

// busy is the error of work that stumbles before its first effect.
const busy = "the bank is busy"

func (l *ledger) unexpected(hash string, f job.Failure) {
	l.errors[f.Type]++
	if f.Text != busy && !slices.Contains(expected, f.Type) {
		l.find(finding{Kind: "unexpected error", Hash: hash, Detail: f.Type + ": " + f.Text})
	}
}

func (l *ledger) find(f finding) { l.findings = append(l.findings, f) }

// settled reports whether a caller of the key was told how it ended.
func (l *ledger) settled(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	return len(e.digests) > 0 || e.declines > 0
}

// select returns the requests for which want holds, in the order of their keys.
func (l *ledger) selects(want func(*entry) bool) (list []job.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		if e := l.entries[key]; want(e) {
			list = append(list, e.Request)
		}
	}
	return list
}
