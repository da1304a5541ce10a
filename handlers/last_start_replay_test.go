package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A message whose turn comes shortly before the last start needs a replay alone. A store
// that answers in 250 ms is not down.
func TestFinishedMessageIsReplayedShortlyBeforeTheLastStart(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, policy := range map[string]idempotent.StoreErrorPolicy{"refuse": idempotent.FailClosed, "fail open": idempotent.FailOpen} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var takes time.Duration // of a claim or a read
				store := intercepted{memory.New(0), func(ctx context.Context, c storeCall, call func() error) error {
					if c.op == "change" {
						return call()
					}
					select {
					case <-time.After(takes):
						return call()
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
				runs := map[string]int{}
				handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{OnStoreError: policy}), nil, func(_ context.Context, m handlers.SQSMessage[string]) error {
					if runs[m.Body]++; m.Body == "slow" {
						time.Sleep(7700 * time.Millisecond) // of 8.5 s until the last start
					}
					return nil
				}, &handlers.SQSOptions{Ahead: -1})
				messages := batch{bodied("m0", "slow"), bodied("m1", "finished")}
				for i := range messages {
					messages[i].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
				}
				reports(t, within(t, 10*time.Second), handler, messages[1:], "")
				takes = 250 * time.Millisecond
				reports(t, within(t, 10*time.Second), handler, messages, "")
				check.Equal(t, runs["finished"], 1)
			})
		})
	}
}
