package handlers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The record is FAILED: every further delivery would meet that.
func TestPoisonTakesARecordWhoseSuccessorFailed(t *testing.T) {
	for successor, want := range map[error]bool{idempotent.Permanent(errOutOfStock): true, errOutOfStock: false} {
		synctest.Test(t, func(t *testing.T) {
			store, config := memory.New(0), &idempotent.Config{Lease: 10 * time.Second}
			unextended := intercepted{store, func(_ context.Context, c storeCall, call func() error) error { // by heartbeats
				if !c.change.Lease.IsZero() && c.change.Owner == "" {
					return driver.ErrUnavailable
				}
				return call()
			}}
			key := idempotent.Key{ID: "o0", Payload: order{ID: "o0"}}
			var taken error
			handler := handlers.Kinesis(newExecutor(t, unextended, config), func(handlers.KinesisRecord[order]) (idempotent.Key, error) { return key, nil }, func(context.Context, handlers.KinesisRecord[order]) error {
				time.Sleep(time.Minute) // its lease lapses, and a successor takes over
				_, err := idempotent.Do(context.Background(), newExecutor(t, store, config), key, func(context.Context) (struct{}, error) { return struct{}{}, successor })
				check.Failed(t, err, "the successor did not fail")
				return errors.New("late")
			}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, _ events.KinesisEventRecord, err error) error { taken = err; return nil }})
			answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"})))
			check.Nil(t, err, successor)
			check.Equal(t, answer == streamAnswer(""), want, successor)
			check.Equal(t, errors.Is(taken, idempotent.ErrReplayed), want, successor)
			check.Equal(t, taken != nil, want, successor)
		})
	}
}
