package handlers_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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
				reports(t, t.Context(), handler, batch{message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"})}, "m0", name)
				s.check(t, map[string]int{"o1": 1})
			}
		}
	}
}

func TestDecoderThatPanicsFailsItsMessage(t *testing.T) {
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[panicky]) error { return nil }, &handlers.SQSOptions{OnFailure: quiet})
	reports(t, t.Context(), handler, batch{message("m0", order{ID: "o0"})}, "m0")
}

// A goroutine that ends itself leaves no error. That must not look like success: the
// messages behind it run, and its own runs again.
func TestGoexitEndsItsMessageAlone(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		s, failures, exits := &shop{}, &received{}, true
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
			if m.Body.Fail && exits {
				runtime.Goexit()
			}
			return s.place(order{ID: m.Body.ID})
		}, &handlers.SQSOptions{OnFailure: failures.Receive})
		messages := batch{message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})}
		if fifo {
			messages = inGroups(messages, "a", "b", "c")
		}
		reports(t, t.Context(), handler, messages, "m0", fifo)
		check.Equal(t, len(failures.Failed), 1, fifo)
		check.As[*handlers.UnfinishedError](t, failures.Failed[0], fifo)
		exits = false
		reports(t, t.Context(), handler, messages, "", fifo)
		s.check(t, map[string]int{"o0": 1, "o1": 1, "o2": 1})
	}
}
