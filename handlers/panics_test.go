package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A nil pointer in an error panics when the error is looked at.
func TestTypedNilFailsItsRecordAlone(t *testing.T) {
	for name, err := range map[string]error{
		"itself":  (*url.Error)(nil),
		"wrapped": fmt.Errorf("call: %w", (*url.Error)(nil)),
	} {
		for _, onFailure := range []func(context.Context, *handlers.RecordError){quiet, nil} {
			for _, concurrency := range []int{1, 4} {
				s := &shop{}
				handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
					if m.Body.Fail {
						return err
					}
					return s.place(m.Body)
				}, &handlers.SQSOptions{Concurrency: concurrency, OnFailure: onFailure})
				answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"})))
				if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0"}) {
					t.Errorf("%s: %s, %v", name, answer, err)
				}
				s.check(t, map[string]int{"o1": 1})
			}
		}
	}
}

func TestPanicFailsItsMessageAlone(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		s, failures := &shop{}, &received{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{Concurrency: concurrency, OnFailure: failures.Receive})
		for range 2 {
			answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Panic: true}), message("m2", order{ID: "o2"})))
			if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1"}) {
				t.Errorf("%s, %v", answer, err)
			}
		}
		s.check(t, map[string]int{"o0": 1, "o1": 2, "o2": 1})
		var panicked *handlers.PanicError
		if !errors.As(failures.Failed[0], &panicked) || panicked.Value != "no such shelf" || !strings.Contains(string(panicked.Stack), "place") {
			t.Errorf("received %v", failures.Failed[0])
		}
	}
}

func TestPanicsAroundTheHandler(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	for name, handler := range map[string]any{
		"key":     handlers.SQS(x, func(handlers.SQSMessage[order]) (idempotent.Key, error) { panic("key") }, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{OnFailure: quiet}),
		"decoder": handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[panicky]) error { return nil }, &handlers.SQSOptions{OnFailure: quiet}),
	} {
		answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"})))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0"}) {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
}

// A goroutine that ends itself leaves no error. That must not look like
// success.
func TestGoexitIsNoSuccess(t *testing.T) {
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
		if m.Body.Fail {
			runtime.Goexit()
		}
		return nil
	}, &handlers.SQSOptions{OnFailure: quiet})
	answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Fail: true})))
	if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1"}) {
		t.Errorf("%s, %v", answer, err)
	}
}

// The messages behind it run, and its own runs again.
func TestGoexitEndsItsMessageAlone(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		s, failures, exits := &shop{}, &received{}, true
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
			if m.Body.Fail && exits {
				runtime.Goexit()
			}
			return s.place(order{ID: m.Body.ID})
		}, &handlers.SQSOptions{ContinueGroups: true, OnFailure: failures.Receive})
		messages := []events.SQSMessage{message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})}
		for i := range messages {
			if fifo {
				messages[i].EventSourceARN += ".fifo"
				messages[i].Attributes = map[string]string{"MessageGroupId": messages[i].MessageId}
			}
		}
		answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0"}) {
			t.Errorf("fifo %t: %s, %v", fifo, answer, err)
		}
		var unfinished *handlers.UnfinishedError
		if len(failures.Failed) != 1 || !errors.As(failures.Failed[0], &unfinished) {
			t.Errorf("fifo %t: received %v", fifo, failures.Failed)
		}
		exits = false
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) > 0 {
			t.Errorf("fifo %t: %s, %v", fifo, answer, err)
		}
		s.check(t, map[string]int{"o0": 1, "o1": 1, "o2": 1})
	}
}
