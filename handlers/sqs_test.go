package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

func orderID(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID, Payload: m.Body}, nil
}

// TestBatchReportsItsFailuresAlone: 3 fail, 2 are running elsewhere, 1 is a replay, 4 are new.
func TestBatchReportsItsFailuresAlone(t *testing.T) {
	for _, concurrency := range []int{1, 3, 8, 100} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var batch []events.SQSMessage
				var want []string
				for i := range 10 {
					o := order{ID: fmt.Sprintf("o%d", i), Fail: i == 0 || i == 4 || i == 9}
					batch = append(batch, message(fmt.Sprintf("m%d", i), o))
					if o.Fail || i == 2 || i == 5 {
						want = append(want, batch[i].MessageId)
					}
				}
				store, s := memory.New(0), &shop{}
				defer elsewhere(t, store, order{ID: "o2"})()
				defer elsewhere(t, store, order{ID: "o5"})()
				handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Concurrency: concurrency, OnFailure: quiet})
				if answer, err := deliver(t.Context(), handler, sqsEvent(t, batch[7])); err != nil || len(reportedIDs(t, answer)) != 0 {
					t.Fatalf("the one that will be replayed: %s, %v", answer, err)
				}
				answer, err := deliver(t.Context(), handler, sqsEvent(t, batch...))
				if err != nil {
					t.Fatal(err)
				}
				if got := reportedIDs(t, answer); !slices.Equal(got, want) {
					t.Errorf("reported %v, want %v", got, want)
				}
				s.check(t, map[string]int{"o0": 1, "o1": 1, "o3": 1, "o4": 1, "o6": 1, "o7": 1, "o8": 1, "o9": 1})
			})
		})
	}
}

// A message that fails permanently runs once, and is reported at every delivery.
func TestPermanentFailureRunsOnce(t *testing.T) {
	s, failures := &shop{}, &received{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: failures.Receive})
	undecodable := message("m1", order{})
	undecodable.Body = `{"id": 4711000815}`
	for range 5 {
		answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0", Never: true}), undecodable))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0", "m1"}) {
			t.Fatalf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o0": 1})
	first, again, body := failures.Failed[0], failures.Failed[2], failures.Failed[1]
	if !errors.Is(first, errOutOfStock) || !errors.Is(again, idempotent.ErrReplayed) {
		t.Errorf("received %v, then of %v", first, again)
	}
	if !errors.Is(body, handlers.ErrDecode) || !strings.Contains(body.Error(), "sqs record 1 (m1)") || strings.Contains(body.Error(), "4711") {
		t.Errorf("received %v", body)
	}
}

func TestBodiesDecodeIntoTheirType(t *testing.T) {
	type text = handlers.SQSMessage[string]
	s := &shop{}
	x := newExecutor(t, memory.New(0), nil)
	plain := handlers.SQS(x, nil, func(_ context.Context, m text) error { return s.place(order{ID: m.Body}) }, nil)
	m := message("m0", order{})
	m.Body = "not JSON"
	if answer, err := deliver(t.Context(), plain, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 0 {
		t.Errorf("%s, %v", answer, err)
	}
	raw := handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[[]byte]) error {
		return s.place(order{ID: string(m.Body)})
	}, nil)
	m.MessageId = "m1"
	if answer, err := deliver(t.Context(), raw, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 0 {
		t.Errorf("%s, %v", answer, err)
	}
	s.check(t, map[string]int{"not JSON": 2})

	refuse := handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	for _, body := range []string{"", "null", " null ", "[]", `"o"`, `{"id":"o"} {}`, `{"id":`, "\x00"} {
		m := message("m2", order{})
		m.Body = body
		if answer, err := deliver(t.Context(), refuse, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 1 {
			t.Errorf("%q: %s, %v", body, answer, err)
		}
	}
	s.check(t, map[string]int{"not JSON": 2})
}

// An empty id is no report: Lambda would take the whole batch for failed, or
// none of it. The others run all the same, so that the retry has less to do.
func TestMessageWithoutIDFailsTheInvocation(t *testing.T) {
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	for range 2 {
		answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("", order{ID: "o1"}), message("m2", order{ID: "o2"})))
		var batch *handlers.BatchError
		if !errors.As(err, &batch) || len(batch.Failed) != 1 || !strings.Contains(err.Error(), "sqs record 1: ") {
			t.Errorf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o0": 1, "o2": 1})
}

// panicky is a body whose decoder panics.
type panicky struct{}

func (*panicky) UnmarshalJSON([]byte) error { panic("decoder") }

func TestErrorIfAllFailedFailsTheInvocation(t *testing.T) {
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{ErrorIfAllFailed: true, OnFailure: quiet})
	bad := []events.SQSMessage{message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1", Fail: true})}
	if _, err := deliver(t.Context(), handler, sqsEvent(t, bad...)); !errors.Is(err, errOutOfStock) {
		t.Errorf("all failed: %v", err)
	}
	answer, err := deliver(t.Context(), handler, sqsEvent(t, append(bad, message("m2", order{ID: "o2"}))...))
	if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0", "m1"}) {
		t.Errorf("one succeeded: %s, %v", answer, err)
	}
}

// A store that is not there fails every message, and loses none.
func TestUnavailableStoreFailsMessages(t *testing.T) {
	event := sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"}))
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(1), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{Ahead: -1, OnFailure: quiet})
	answer, err := deliver(t.Context(), handler, event)
	if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1", "m2"}) {
		t.Errorf("%s, %v", answer, err)
	}
	s.check(t, map[string]int{"o0": 1})

	// Together, any of them may be the one that finds room.
	s = &shop{}
	handler = handlers.SQS(newExecutor(t, memory.New(1), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	answer, err = deliver(t.Context(), handler, event)
	if reported := reportedIDs(t, answer); err != nil || len(reported) != 2 || len(s.placed()) != 1 {
		t.Errorf("ahead: %s, %v, placed %v", answer, err, s.placed())
	} else {
		for _, id := range reported {
			if s.placed()["o"+id[1:]] != 0 {
				t.Errorf("%s is reported, and was placed", id)
			}
		}
	}
}
