package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func orderID(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID, Payload: m.Body}, nil
}

// TestBatchReportsItsFailuresAlone: 3 fail, 2 are running elsewhere, 1 is a replay, 4 are new.
func TestBatchReportsItsFailuresAlone(t *testing.T) {
	for _, concurrency := range []int{1, 3, 8, 100} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all batch
				for i := range 10 {
					all = append(all, message(fmt.Sprintf("m%d", i), order{ID: fmt.Sprintf("o%d", i), Fail: i == 0 || i == 4 || i == 9}))
				}
				store, s := memory.New(0), &shop{}
				defer elsewhere(t, store, order{ID: "o2"})()
				defer elsewhere(t, store, order{ID: "o5"})()
				handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Concurrency: concurrency, OnFailure: quiet})
				reports(t, t.Context(), handler, all[7:8], "", "the one that will be replayed")
				reports(t, t.Context(), handler, all, "m0 m2 m4 m5 m9")
				s.check(t, map[string]int{"o0": 1, "o1": 1, "o3": 1, "o4": 1, "o6": 1, "o7": 1, "o8": 1, "o9": 1})
			})
		})
	}
}

func TestBodiesDecodeIntoTheirType(t *testing.T) {
	type text = handlers.SQSMessage[string]
	s := &shop{}
	x := newExecutor(t, memory.New(0), nil)
	plain := handlers.SQS(x, nil, func(_ context.Context, m text) error { return s.place(order{ID: m.Body}) }, nil)
	reports(t, t.Context(), plain, batch{bodied("m0", "not JSON")}, "")
	raw := handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[[]byte]) error {
		return s.place(order{ID: string(m.Body)})
	}, nil)
	reports(t, t.Context(), raw, batch{bodied("m1", "not JSON")}, "")
	s.check(t, map[string]int{"not JSON": 2})

	refuse := handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	for _, body := range []string{"", "null", " null ", "[]", `"o"`, `{"id":"o"} {}`, `{"id":`, "\x00"} {
		reports(t, t.Context(), refuse, batch{bodied("m2", body)}, "m2", body)
	}
	s.check(t, map[string]int{"not JSON": 2})
}

// An empty id is no report: Lambda would take the whole batch for failed, or
// none of it. The others run all the same, so that the retry has less to do.
func TestMessageWithoutIDFailsTheInvocation(t *testing.T) {
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	for range 2 {
		_, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("", order{ID: "o1"}), message("m2", order{ID: "o2"})))
		check.Equal(t, len(check.As[*handlers.BatchError](t, err).Failed), 1)
		check.Says(t, err, "sqs record 1: ")
	}
	s.check(t, map[string]int{"o0": 1, "o2": 1})
}

// panicky is a body whose decoder panics.
type panicky struct{}

func (*panicky) UnmarshalJSON([]byte) error { panic("decoder") }

func TestErrorIfAllFailedFailsTheInvocation(t *testing.T) {
	handler := handlers.SQS(newExecutor(t, memory.New(0), refusing(nil, 0)), nil, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{ErrorIfAllFailed: true, OnFailure: quiet})
	bad := append(batch{message("m0", order{ID: "o0", Fail: true})}, sentBefore(tooOld, message("m1", order{ID: "o1"}))...)
	_, err := deliver(t.Context(), handler, sqsEvent(t, bad...))
	check.Is(t, err, errOutOfStock, "all failed")
	reports(t, t.Context(), handler, append(bad, message("m2", order{ID: "o2"})), "m0 m1", "one succeeded")
}
