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
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
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

// A Margin that nothing can start with is a mistake that has to be seen: it
// is neither shortened nor passed over.
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
		"outbox": {margin: 2 * time.Second, timeout: 2 * time.Second, event: golden(t, "outbox.json"),
			handler: handlers.OutboxRelay(func(context.Context, string, []handlers.OutboxMessage) ([]error, error) {
				t.Error("published")
				return nil, nil
			}, &handlers.OutboxOptions{Margin: 2 * time.Second})},
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
