package durable_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

// delay freezes one invocation at a write to the store, before or after it is
// made, until a later write has been reached.
type delay struct {
	at, until int
	after     bool

	mu     sync.Mutex
	writes int
	thaw   chan struct{}
}

func (d *delay) pass(_ context.Context, _ string, apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	d.mu.Lock()
	d.writes++
	n := d.writes
	d.mu.Unlock()
	switch {
	case n == d.at:
		if d.after {
			defer func() { <-d.thaw }()
			return apply()
		}
		<-d.thaw
	case n == d.at+d.until:
		close(d.thaw)
		synctest.Wait() // it has gone as far as it can
	}
	return apply()
}

// end thaws an invocation that is still frozen.
func (d *delay) end() {
	d.mu.Lock()
	frozen := d.writes < d.at+d.until
	d.mu.Unlock()
	if frozen {
		close(d.thaw)
	}
	synctest.Wait()
}

// What a run decides after its charge.
const (
	succeeds = iota
	failsForGood
	failsOnce
)

// sale is a durable step with a saga, and the charges that it made and undid.
type sale struct {
	decisions         []int // of each run; the last one of all further runs
	awayFor           int64 // refunds that fail first
	mu                sync.Mutex
	charged, refunded map[string]bool
	runs, refunds     atomic.Int64
}

var errAway = errors.New("the bank is away")

func (s *sale) run(ctx context.Context) (string, error) {
	n := int(s.runs.Add(1))
	_, err := idempotent.SagaStep(ctx, "charge", func(ctx context.Context) (string, error) {
		key := idempotent.DownstreamKey(ctx, "charge")
		s.note(s.charged, key)
		return key, nil
	}, func(_ context.Context, key string) error {
		if s.refunds.Add(1) <= s.awayFor {
			return errAway
		}
		s.note(s.refunded, key)
		return nil
	})
	if err != nil {
		return "", err
	}
	switch s.decisions[min(n, len(s.decisions))-1] {
	case succeeds:
		return "shipped", nil
	case failsForGood:
		return "", idempotent.Permanent(errDeclined)
	}
	return "", errors.New("reset")
}

func (s *sale) note(where map[string]bool, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	where[key] = true
}

// One invocation of a durable step with a saga is frozen at each of its writes,
// and thaws at each later write of its successors. Whatever each run decides, a
// charge is kept exactly if the record says so.
func TestSagaOfOverlappingInvocationsIsUndoneOrNot(t *testing.T) {
	struck := 0
	for _, decisions := range [][]int{
		{succeeds, failsForGood}, {failsForGood, succeeds}, {failsForGood, failsForGood}, {failsOnce, failsForGood}, {failsOnce, succeeds},
		{succeeds, failsOnce, failsForGood}, {failsForGood, failsOnce, succeeds}, {failsOnce, failsForGood, succeeds},
	} {
		for n := range 2 * 10 * 8 * 2 {
			awayFor, at, until, after := int64(n%2), 1+n/2%10, 1+n/20%8, n/160 == 1
			inMemory(t, func(w *world) {
				d := &delay{at: at, until: until, after: after, thaw: make(chan struct{})}
				s := &sale{decisions: decisions, awayFor: awayFor, charged: map[string]bool{}, refunded: map[string]bool{}}
				w.deploy(w.charging(named("charge"), s.run))
				w.store.pass = d.pass
				first := w.Start("first", theOrder)
				for range 8 {
					_, _ = first.Once(w.Context())
					time.Sleep(2 * time.Minute)
				}
				d.end()
				if d.writes >= at {
					struck++
				}
				r := w.record("charge", cardKey)
				if kept := len(s.charged) - len(s.refunded); r.Status == driver.InProgress || kept != map[driver.Status]int{driver.Completed: 1}[r.Status] {
					w.Errorf("the runs decide %v, %d refunds fail, frozen from write %d for %d, after it: %v: the record is %s; %d charges, %d refunds",
						decisions, awayFor, at, until, after, r.Status, len(s.charged), len(s.refunded))
				}
			})
		}
	}
	check.True(t, struck >= 1000, "only", struck, "invocations were frozen")
}

// ledger is a store whose transactions write nothing but the record.
type ledger struct {
	driver.Store
	commit func(apply func() (driver.Record, bool, error)) (driver.Record, bool, error)
}

func (l *ledger) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.With == nil {
		return l.Store.Change(ctx, f, c)
	}
	c.With = nil
	return l.commit(func() (driver.Record, bool, error) { return l.Store.Change(ctx, f, c) })
}

func (*ledger) Commit(context.Context, string, any) error { return errors.ErrUnsupported }

type entries struct{}

func (*entries) Freeze() (bool, error) { return false, nil }

// It does not know whether its transaction is committed. Its successor, under
// the same fence, finds out.
func TestThawedCommitReleasesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		thaw, proceed := make(chan struct{}), make(chan struct{})
		var runs, commits atomic.Int64
		store := &ledger{Store: w.store, commit: func(apply func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if runs.Load() == 1 {
				<-thaw
			}
			if commits.Load() == 0 && runs.Load() < 3 && !closed(proceed) {
				return driver.Record{}, false, errNetwork
			}
			r, ok, err := apply()
			if ok {
				commits.Add(1)
			}
			return r, ok, err
		}}
		transfers, err := idempotent.New("transfer", store, &idempotent.Config{Observer: &w.events})
		check.Must(t, err)
		transfer := func(ctx context.Context) (string, error) {
			if runs.Add(1) == 2 {
				<-proceed
			}
			driver.Attach(ctx, func() *entries { return &entries{} })
			return "booked", nil
		}
		w.deploy(func(c *durable.Context, _ order) (string, error) {
			return durable.Step(c, "transfer", func(ctx context.Context) (string, error) {
				return idempotent.Do(durablefunc.InStep(ctx, "transfer"), transfers, cardKey, transfer)
			})
		})
		done := make(chan string, 1)
		go func() { done <- w.wantSuccess(w.deliver("first")) }()
		time.Sleep(w.Timeout + 11*time.Second) // the successor runs
		close(thaw)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := idempotent.Do(w.Context(), transfers, cardKey, transfer); !errors.Is(err, idempotent.ErrInProgress) {
			w.Errorf("another call got %v", err)
		}
		close(proceed)
		<-done
		if runs.Load() != 2 || commits.Load() != 1 {
			w.Errorf("%d runs, %d commits", runs.Load(), commits.Load())
		}
	})
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
