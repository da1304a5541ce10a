package storetest_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// The flaws of a ledger, and the tests that must notice them.
const (
	attachesAlone  = "an attachment is written without its record"
	attachedFirst  = "an attachment decides before the record"
	forgetsAnswers = "a call that is made again is done again"
	mixesCalls     = "another call receives the answer of the last one"
	refusalIsLost  = "a refused attachment is a lost race"
	refusalWrites  = "a refused attachment leaves the record written"
	refusalUnnamed = "a refused attachment is any error"
	dropsAttached  = "an attachment is dropped silently"
	attachesAny    = "a release takes an attachment"
	hidden         = "a decorator hides transactions"
	unobserved     = "a decorator hides metrics"
	unattached     = "the harness cannot attach"
)

var flaws = map[string]string{
	attachesAlone:  "Transact/own/lost",
	attachedFirst:  "Transact/own/lost",
	forgetsAnswers: "Transact/own/again",
	mixesCalls:     "Transact/own/with_other_arguments_is_another_call",
	refusalIsLost:  "Transact/own/COMPLETED_refused",
	refusalWrites:  "Transact/create/refused",
	refusalUnnamed: "Transact/alone/refused",
	dropsAttached:  "Transact/adopt/finishes",
	attachesAny:    "Transact/invalid/keep",
	hidden:         "Abilities",
	unobserved:     "Abilities",
	unattached:     "Abilities",
}

// TestTransactional passes on a sound ledger. TestBrokenTransactions runs it on
// those with a flaw.
func TestTransactional(t *testing.T) {
	flaw := os.Getenv(breakEnv)
	storetest.Run(t, func(*testing.T) storetest.Harness {
		l := &ledger{Store: memory.New(0), flaw: flaw}
		h := storetest.Harness{
			Store: l,
			Plant: func(t *testing.T, r driver.Record) {
				check.Must(t, l.Put(r))
			},
			Attach: func(_ *testing.T, refused bool) (driver.Attachment, func() int) {
				e := &entry{refused: refused}
				return e, func() int { return e.written }
			},
			Schedules: 20,
		}
		switch flaw {
		case hidden:
			h.Store, h.Decorates, h.Attach = l.Store, l, nil
		case unobserved:
			h.Decorates = measured{l}
		case unattached:
			h.Attach = nil
		}
		return h
	})
}

func TestBrokenTransactions(t *testing.T) {
	for flaw, subtest := range flaws {
		t.Run(flaw, func(t *testing.T) { fails(t, "TestTransactional", flaw, subtest) })
	}
}

// entry is an attachment of a ledger.
type entry struct {
	refused bool
	written int
	calls   []any // arguments of the calls in answers
	answers []result
}

func (e *entry) Freeze() (bool, error) { return false, nil }

// ledger is a store in memory with transactions.
type ledger struct {
	*memory.Store
	flaw string
	mu   sync.Mutex
}

// measured is a ledger with metrics.
type measured struct{ *ledger }

func (measured) DefaultObserver() idempotent.Observer { return idempotent.NoObserver{} }

var errRefused = errors.New("the ledger refuses")

func (l *ledger) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	e, ok := with.(*entry)
	if !ok || r.Status == driver.InProgress {
		return l.Store.Create(ctx, r, cutoff, with)
	}
	return l.write(e, r.ID, []any{r, cutoff}, func() (driver.Record, bool, error) {
		return l.Store.Create(ctx, r, cutoff, nil)
	})
}

func (l *ledger) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	e, ok := c.With.(*entry)
	if !ok || c.Status == driver.Absent && l.flaw != attachesAny {
		return l.Store.Change(ctx, f, c)
	}
	c.With = nil
	return l.write(e, f.ID, []any{f, c}, func() (driver.Record, bool, error) {
		return l.Store.Change(ctx, f, c)
	})
}

func (l *ledger) Commit(_ context.Context, id string, with any) error {
	e, ok := with.(*entry)
	if !ok {
		return errors.New("the ledger does not know this attachment")
	}
	_, _, err := l.write(e, id, nil, func() (driver.Record, bool, error) { return driver.Record{}, true, nil })
	return err
}

func (l *ledger) write(e *entry, id string, args []any, record func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, a := range e.calls {
		if l.flaw != forgetsAnswers && (l.flaw == mixesCalls || reflect.DeepEqual(a, any(args))) {
			return e.answers[i].split()
		}
	}
	res := l.both(e, id, record)
	e.calls, e.answers = append(e.calls, args), append(e.answers, res)
	return res.split()
}

// both writes the record and the entry. It restores the record if the entry is
// refused.
func (l *ledger) both(e *entry, id string, record func() (driver.Record, bool, error)) result {
	if l.flaw == attachedFirst && e.refused {
		return result{err: &driver.Rejected{Err: errRefused}}
	}
	if l.flaw == attachesAlone {
		e.written++
	}
	before, err := l.Get(context.Background(), id)
	if err != nil {
		return result{err: err}
	}
	before.ID = id
	r, ok, err := record()
	if err != nil || !ok {
		if l.flaw == forgetsAnswers && r.Owner == "alice" && r.Status == driver.Completed {
			e.written++
		}
		return result{r, ok, err}
	}
	if !e.refused {
		if l.flaw != dropsAttached && l.flaw != attachesAlone {
			e.written++
		}
		return result{r, ok, nil}
	}
	if l.flaw == refusalWrites {
		return result{err: &driver.Rejected{Err: errRefused}}
	}
	if err := l.Put(before); err != nil {
		return result{err: err}
	}
	switch l.flaw {
	case refusalIsLost:
		return result{r: before}
	case refusalUnnamed:
		return result{err: errRefused}
	}
	return result{err: &driver.Rejected{Err: errRefused}}
}
