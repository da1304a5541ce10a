package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// restored is a store that is unavailable until a time.
type restored struct {
	driver.Store
	at time.Time
}

func (r restored) Create(ctx context.Context, record driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if time.Now().Before(r.at) {
		return driver.Record{}, false, driver.ErrUnavailable
	}
	return r.Store.Create(ctx, record, cutoff, with)
}

func (r restored) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if time.Now().Before(r.at) {
		return driver.Record{}, false, driver.ErrUnavailable
	}
	return r.Store.Change(ctx, f, c)
}

// An outage at the beginning of a batch leaves only those messages unprotected
// whose turn comes in it.
func TestOutageBeforeTheTurnRunsNothingUnprotected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &observed{}
		store := restored{memory.New(0), time.Now().Add(time.Second)}
		x := newExecutor(t, store, &idempotent.Config{Observer: seen, OnStoreError: idempotent.FailOpen})
		handler := handlers.SQS(x, orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(2 * time.Second)
			return nil
		}, &handlers.SQSOptions{OnFailure: quiet})
		messages, _ := orders(5)
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Fatalf("%s, %v", answer, err)
		}
		bypassed, executed := seen.count(idempotent.OutcomeBypassed), seen.count(idempotent.OutcomeExecuted)
		check.Equal(t, bypassed, 1)
		check.Equal(t, executed, 4)
	})
}
