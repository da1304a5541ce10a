package handlers_test

import (
	"context"
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

// slowStore takes its time for claims and reads.
type slowStore struct {
	driver.Store
	takes time.Duration
}

func (s *slowStore) pass(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowStore) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if err := s.pass(ctx); err != nil {
		return driver.Record{}, false, err
	}
	return s.Store.Create(ctx, r, cutoff, with)
}

func (s *slowStore) Get(ctx context.Context, id string) (driver.Record, error) {
	if err := s.pass(ctx); err != nil {
		return driver.Record{}, err
	}
	return s.Store.Get(ctx, id)
}

// A message whose turn comes shortly before the last start needs a replay alone. A store
// that answers in 250 ms is not down.
func TestFinishedMessageIsReplayedShortlyBeforeTheLastStart(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, policy := range map[string]idempotent.StoreErrorPolicy{"refuse": idempotent.FailClosed, "fail open": idempotent.FailOpen} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, runs := &slowStore{Store: memory.New(0)}, map[string]int{}
				x, err := idempotent.New("op", store, &idempotent.Config{OnStoreError: policy, Retention: 28 * 24 * time.Hour})
				check.Must(t, err)
				handle := handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[string]) error {
					if runs[m.Body]++; m.Body == "slow" {
						time.Sleep(7700 * time.Millisecond) // of 8.5 s until the last start
					}
					return nil
				}, &handlers.SQSOptions{Ahead: -1})
				deliver := func(ids ...string) events.SQSEventResponse {
					var event events.SQSEvent
					for _, id := range ids {
						event.Records = append(event.Records, events.SQSMessage{MessageId: id, Body: id, EventSource: "aws:sqs",
							EventSourceARN: "arn:aws:sqs:us-east-1:111122223333:orders", Attributes: map[string]string{"ApproximateReceiveCount": "2"}})
					}
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					response, err := handle(ctx, event)
					check.Must(t, err)
					return response
				}
				deliver("finished")
				store.takes = 250 * time.Millisecond
				response := deliver("slow", "finished")
				check.True(t, len(response.BatchItemFailures) <= 0, len(response.BatchItemFailures))
				check.Equal(t, runs["finished"], 1)
			})
		})
	}
}
