package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A handler that is started has as much time as the margin says, although the
// Reserve is taken from it.
func TestMarginCountsFromTheEndOfTheHandlersTime(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	const takes = 1900 * time.Millisecond
	for _, reserve := range []time.Duration{0, time.Second} { // 0 is the default
		synctest.Test(t, func(t *testing.T) {
			s, placed := &shop{}, 0
			handler := handlers.SQS(newExecutor(t, memory.New(0), &idempotent.Config{Margin: 2 * time.Second, Reserve: reserve}), nil,
				func(ctx context.Context, m handlers.SQSMessage[order]) error {
					if err := s.place(m.Body); err != nil {
						return err
					}
					select {
					case <-time.After(takes):
						placed++
						return nil
					case <-ctx.Done():
						t.Errorf("%s is cut off behind its effect", m.Body.ID)
						return context.Cause(ctx)
					}
				}, &handlers.SQSOptions{OnFailure: quiet})
			messages, ids := orders(4)
			for range messages { // as often as it takes
				_, err := deliver(within(t, 4200*time.Millisecond), handler, sqsEvent(t, messages...))
				check.Nil(t, err)
			}
			s.check(t, map[string]int{ids[0]: 1, ids[1]: 1, ids[2]: 1, ids[3]: 1})
			check.Equal(t, placed, 4)
		})
	}
}

// A Margin within which nothing can start is reported: it is neither shortened nor
// ignored.
func TestMarginThatLeavesNoRoomFailsTheInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	keeping := func(margin time.Duration) *idempotent.Executor {
		return newExecutor(t, memory.New(0), &idempotent.Config{Margin: margin})
	}
	s := &shop{}
	for name, c := range map[string]struct {
		margin, timeout time.Duration
		handler         any
		event           []byte
	}{
		"sqs": {margin: 2 * time.Second, timeout: 2500 * time.Millisecond, event: sqsEvent(t, message("m0", order{ID: "o0"})),
			handler: handlers.SQS(keeping(2*time.Second), nil, place[events.SQSMessage](s), nil)},
		"sns": {margin: time.Hour, timeout: time.Minute, event: snsEvent(t, order{ID: "o0"}),
			handler: handlers.SNS(keeping(time.Hour), nil, place[events.SNSEventRecord](s), nil)},
		"kinesis": {margin: 2 * time.Second, timeout: 2 * time.Second, event: marshal(t, kinesisEvent(t, "a", order{ID: "o0"})),
			handler: handlers.Kinesis(keeping(2*time.Second), nil, place[events.KinesisEventRecord](s), nil)},
		"sqs, by default": {timeout: 500 * time.Millisecond, event: sqsEvent(t, message("m0", order{ID: "o0"})),
			handler: handlers.SQS(keeping(0), nil, place[events.SQSMessage](s), nil)},
		"outbox": {event: golden(t, "../relay/testdata/outbox.json"),
			handler: relay.Outbox(func(context.Context, string, []driver.OutboxMessage) ([]error, error) {
				t.Error("published")
				return nil, nil
			}, nil)},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := deliver(within(t, c.timeout), c.handler, c.event)
			check.Is(t, err, handlers.ErrMargin, name)
			none := check.As[*handlers.MarginError](t, err, name)
			check.Equal(t, none.Margin, c.margin, name)
			check.True(t, none.Left <= c.timeout, name, none.Left)
			check.Equal(t, none.Source, strings.Split(name, ",")[0])
		})
	}
	s.check(t, nil)
}

// A call of an option waits as its own executor says.
func TestBatchWaitIsNotForTheCallsOfAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		time.AfterFunc(20*time.Second, elsewhere(t, store, order{ID: "o1"}))
		audit := newExecutor(t, store, &idempotent.Config{Wait: time.Minute})
		handler := handlers.SQS(newExecutor(t, store, nil), nil, func(context.Context, handlers.SQSMessage[order]) error {
			return idempotent.Permanent(errors.New("declined"))
		}, &handlers.SQSOptions{OnFailure: quiet, Poison: func(ctx context.Context, _ events.SQSMessage, _ error) error {
			o := order{ID: "o1"}
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: o.ID, Payload: o}, func(context.Context) (struct{}, error) {
				t.Error("it ran")
				return struct{}{}, nil
			})
			return err
		}})
		reports(t, t.Context(), handler, batch{message("m0", order{ID: "o0"})}, "")
		time.Sleep(time.Minute)
	})
}

// The default margin is at most half of the invocation's time, for waits as well as
// for starts. The time that key functions take counts.
func TestMarginLimitsWaitsAndStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		end := elsewhere(t, store, order{ID: "o0"})
		time.AfterFunc(100*time.Millisecond, end)
		handler := handlers.SNS(newExecutor(t, store, nil), byID, place[events.SNSEventRecord](&shop{}), &handlers.EventOptions{OnFailure: quiet})
		_, err := deliver(within(t, time.Second), handler, snsEvent(t, order{ID: "o0"}))
		check.Nil(t, err, "a duplicate of 100 ms in an invocation of a second")

		slow := handlers.SQS(newExecutor(t, store, &idempotent.Config{Margin: 10 * time.Second}), func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			time.Sleep(25 * time.Second)
			return idempotent.Key{ID: m.Body.ID}, nil
		}, func(context.Context, handlers.SQSMessage[order]) error { t.Error("started with 5 s left"); return nil },
			&handlers.SQSOptions{OnFailure: quiet})
		reports(t, within(t, 30*time.Second), slow, batch{message("m0", order{ID: "o1"})}, "m0")
	})
}

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
				handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Ahead: -1, OnStoreError: policy}), nil, func(_ context.Context, m handlers.SQSMessage[string]) error {
					if runs[m.Body]++; m.Body == "slow" {
						time.Sleep(7700 * time.Millisecond) // of 8.5 s until the last start
					}
					return nil
				}, nil)
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
