package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// hung is a store that never answers calls for one record.
type hung struct {
	driver.Store
	id string
}

func (h hung) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if r.ID == h.id {
		<-ctx.Done()
		return driver.Record{}, false, context.Cause(ctx)
	}
	return h.Store.Create(ctx, r, cutoff, with)
}

func (h hung) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if f.ID == h.id {
		<-ctx.Done()
		return driver.Record{}, false, context.Cause(ctx)
	}
	return h.Store.Change(ctx, f, c)
}

func (h hung) Get(ctx context.Context, id string) (driver.Record, error) {
	if id == h.id {
		<-ctx.Done()
		return driver.Record{}, context.Cause(ctx)
	}
	return h.Store.Get(ctx, id)
}

// The report of a batch does not wait for a claim that is of no use any more,
// until Lambda ends the process.
func TestHungClaimAheadDoesNotDelayTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		messages, _ := orders(3)
		messages[0] = message("m00", order{ID: "o00", Fail: true})
		for i := range messages {
			messages[i].EventSourceARN += ".fifo"
		}
		key, err := orderID(handlers.SQSMessage[order]{Body: order{ID: "o02"}})
		check.Must(t, err)
		id, err := key.RecordID("create-payment")
		check.Must(t, err)
		d := &distant{Store: hung{memory.New(0), id}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		answer, err := deliver(ctx, d.queue(t, nil, handlers.SQSOptions{}), sqsEvent(t, messages...))
		check.Nil(t, err)
		check.Equal(t, len(reportedIDs(t, answer)), 3)
		took := time.Since(begun)
		check.True(t, took <= time.Second, took)
	})
}
