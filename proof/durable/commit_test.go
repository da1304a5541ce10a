package durable_test

import (
	"context"
	"errors"
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
