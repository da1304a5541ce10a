package linearizability

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// In histories with Config.Resume, the processes call a wrapped handler, as Do has no
// request to store, and beside them runs a resumer: a process whose attempts have no caller.

// theRequest is that of all calls of a history.
const theRequest = "the request"

func (h *history) key(string) (idempotent.Key, error) {
	return idempotent.Key{ID: "k", Fingerprint: "payload", Issued: time.Now()}, nil
}

// operable is a store for a resumer that is told its record, and so calls no method of an
// operator. It then meets the record in each state, as by an index that is far behind.
type operable struct {
	driver.Store
	operator
	process *process
}

// Get freezes the process at times, so that others go on with a record that it will take
// over.
func (o operable) Get(ctx context.Context, id string) (driver.Record, error) {
	r, err := o.Store.Get(ctx, id)
	if p := o.process; r.Status == driver.InProgress && !p.calm && p.rnd.IntN(3) == 0 {
		p.freeze(upTo(p.rnd, p.lease))
	}
	return r, err
}

type operator interface {
	Inspect(ctx context.Context, id string) (driver.Entry, error)
	Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error)
	Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error)
}

// resumer is a process that calls nothing. It resumes.
type resumer struct {
	*process
	id     string // of the record
	resume func(context.Context, handlers.ResumeEvent) (handlers.ResumeReport, error)
	report handlers.ResumeReport // of the last round
}

// newResumer returns a resumer that calls the store through between, if it is not nil.
func newResumer(h *history, store driver.Store, lease time.Duration, between func(driver.Store) driver.Store) *resumer {
	id, err := idempotent.Key{ID: "k"}.RecordID(h.id)
	if err != nil {
		panic(err) // the key is valid
	}
	r := &resumer{id: id}
	r.process = newProcess(h, resumerClient, lease, func(p *process) driver.Store {
		s := recorded(store, resumerClient, h, p.gate)
		if between != nil {
			s = between(s)
		}
		return operable{Store: s, process: p}
	})
	r.resume = handlers.Resume(handlers.Resumed(r.x, h.key, func(ctx context.Context, _ string) (string, error) { return r.run(ctx) }), nil)
	r.call = r.round
	return r
}

// round resumes the record once, and returns what a caller would have received, as far as
// that is known.
func (r *resumer) round(ctx context.Context) (_ string, err error) {
	i := ctx.Value(invocationKey{}).(*invocation)
	i.resumes = true
	r.process.event = idempotent.Event{}
	r.report, err = r.resume(ctx, handlers.ResumeEvent{IDs: []string{r.id}})
	switch e := r.process.event; {
	case e.Outcome == "": // there is nothing to resume, or the store did not answer
		return "", cmp.Or(err, errNothing)
	case e.Permanent && e.Outcome == idempotent.OutcomeFailed:
		return "", errors.New(i.result)
	case e.Outcome == idempotent.OutcomeExecuted, e.Outcome == idempotent.OutcomeTakeover:
		return i.result, nil
	default:
		return "", e.Err
	}
}

var errNothing = errors.New("nothing is resumed")

// last resumes the record long after all calls and without faults, and leaves nothing.
func (r *resumer) last(ctx context.Context) *invocation {
	r.calm = true
	i := r.invoke(ctx)
	if r.report.Failed+r.report.Waiting+r.report.Left > 0 || !r.report.Complete {
		r.h.problem("the last round of the resumer: %+v: %v", r.report, i.err)
	}
	return i
}
