package handlers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/outbound"
)

// A handler that is started has as much time as the margin says, although the
// Reserve is taken from it.
func TestMarginCountsFromTheEndOfTheHandlersTime(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	const takes = 1900 * time.Millisecond
	for _, reserve := range []time.Duration{0, time.Second} { // 0 is the default
		synctest.Test(t, func(t *testing.T) {
			s, placed := &shop{}, 0
			handler := handlers.SQS(newExecutor(t, memory.New(0), &idempotent.Config{Reserve: reserve}), nil,
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
				}, &handlers.SQSOptions{Margin: 2 * time.Second, OnFailure: quiet})
			messages := []events.SQSMessage{message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"}), message("m3", order{ID: "o3"})}
			for range messages { // as often as it takes
				ctx, cancel := context.WithTimeout(t.Context(), 4200*time.Millisecond)
				if _, err := deliver(ctx, handler, sqsEvent(t, messages...)); err != nil {
					t.Error(err)
				}
				cancel()
			}
			s.check(t, map[string]int{"o0": 1, "o1": 1, "o2": 1, "o3": 1})
			if placed != 4 {
				t.Errorf("%d of 4 ended", placed)
			}
		})
	}
}

// A Margin within which nothing can start is reported: it is neither shortened nor
// ignored.
func TestMarginThatLeavesNoRoomFailsTheInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	x := newExecutor(t, memory.New(0), nil)
	s := &shop{}
	for name, c := range map[string]struct {
		margin, timeout time.Duration
		handler         any
		event           []byte
	}{
		"sqs": {margin: 2 * time.Second, timeout: 2500 * time.Millisecond, event: sqsEvent(t, message("m0", order{ID: "o0"})),
			handler: handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{Margin: 2 * time.Second})},
		"sns": {margin: time.Hour, timeout: time.Minute, event: snsEvent(t, order{ID: "o0"}),
			handler: handlers.SNS(x, nil, place[events.SNSEventRecord](s), &handlers.EventOptions{Margin: time.Hour})},
		"kinesis": {margin: 2 * time.Second, timeout: 2 * time.Second, event: marshal(t, kinesisEvent(t, "a", order{ID: "o0"})),
			handler: handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{Margin: 2 * time.Second})},
		"sqs, by default": {timeout: 500 * time.Millisecond, event: sqsEvent(t, message("m0", order{ID: "o0"})),
			handler: handlers.SQS(x, nil, place[events.SQSMessage](s), nil)},
		"outbox": {margin: 2 * time.Second, timeout: 2 * time.Second, event: golden(t, "../relay/testdata/outbox.json"),
			handler: relay.Outbox(func(context.Context, string, []outbound.Message) ([]error, error) {
				t.Error("published")
				return nil, nil
			}, &relay.Options{Margin: 2 * time.Second})},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			_, err := deliver(ctx, c.handler, c.event)
			var none *handlers.MarginError
			if !errors.As(err, &none) || !errors.Is(err, handlers.ErrMargin) || none.Margin != c.margin || none.Left > c.timeout || none.Source != strings.Split(name, ",")[0] {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
	s.check(t, nil)
}

// The batch's Wait applies, and not the executor's.
func TestBatchWaitReplacesTheExecutors(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		defer elsewhere(t, store, order{ID: "o0"})()
		handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Wait: time.Hour}), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Margin: 10 * time.Second, Wait: 2 * time.Second, OnFailure: quiet})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"})))
		if took := time.Since(begun); err != nil || len(reportedIDs(t, answer)) != 1 || took != 2*time.Second {
			t.Errorf("%s, %v after %v", answer, err, took)
		}
	})
}

// A call of an option waits as its own executor says.
func TestBatchWaitIsNotForTheCallsOfAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		time.AfterFunc(20*time.Second, elsewhere(t, store, order{ID: "o1"}))
		audit := newExecutor(t, store, &idempotent.Config{Wait: time.Minute})
		handler := handlers.Kinesis(newExecutor(t, store, nil), nil, func(context.Context, handlers.KinesisRecord[order]) error {
			return idempotent.Permanent(errors.New("declined"))
		}, &handlers.KinesisOptions{Wait: 2 * time.Second, OnFailure: quiet, Poison: func(ctx context.Context, _ events.KinesisEventRecord, _ error) error {
			o := order{ID: "o1"}
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: o.ID, Payload: o}, func(context.Context) (struct{}, error) {
				t.Error("it ran")
				return struct{}{}, nil
			})
			return err
		}})
		answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"})))
		if err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
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
		byID := func(e handlers.SNSMessage[order]) (idempotent.Key, error) { return idempotent.Key{ID: e.Body.ID}, nil }
		handler := handlers.SNS(newExecutor(t, store, nil), byID, place[events.SNSEventRecord](&shop{}), &handlers.EventOptions{OnFailure: quiet})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := deliver(short, handler, snsEvent(t, order{ID: "o0"})); err != nil {
			t.Errorf("a duplicate of 100 ms in an invocation of a second: %v", err)
		}

		slow := handlers.SQS(newExecutor(t, store, nil), func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			time.Sleep(25 * time.Second)
			return idempotent.Key{ID: m.Body.ID}, nil
		}, func(context.Context, handlers.SQSMessage[order]) error { t.Error("started with 5 s left"); return nil },
			&handlers.SQSOptions{Margin: 10 * time.Second, OnFailure: quiet})
		long, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if answer, err := deliver(long, slow, sqsEvent(t, message("m0", order{ID: "o1"}))); err != nil || len(reportedIDs(t, answer)) != 1 {
			t.Errorf("%s, %v", answer, err)
		}
	})
}

func TestMessagesDoNotStartWithinTheMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := &shop{}, &received{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(4 * time.Second)
			return s.place(m.Body)
		}, &handlers.SQSOptions{Margin: 3 * time.Second, OnFailure: failures.Receive})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		// They start with 10, 6 and 2 s left.
		answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"}), message("m3", order{ID: "o3"})))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m2", "m3"}) {
			t.Errorf("%s, %v", answer, err)
		}
		s.check(t, map[string]int{"o0": 1, "o1": 1})
		for _, f := range failures.Failed {
			if !errors.Is(f, handlers.ErrNotStarted) {
				t.Errorf("received %v", f)
			}
		}
	})
}

// With a timeout shorter than the default margin, nothing would ever start.
func TestShortTimeoutsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		if answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"}))); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
		s.check(t, map[string]int{"o0": 1})
	})
}
