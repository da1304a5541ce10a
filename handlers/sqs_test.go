package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func orderID(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID, Payload: m.Body}, nil
}

// elsewhere runs an order in another process until the test lets it end.
func elsewhere(t *testing.T, store driver.Store, o order) (end func()) {
	x := newExecutor(t, store, nil)
	begun, let, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: o.ID, Payload: o}, func(context.Context) (struct{}, error) {
			close(begun)
			<-let
			return struct{}{}, nil
		}); err != nil {
			t.Errorf("elsewhere: %v", err)
		}
	}()
	<-begun
	return func() { close(let); <-ended }
}

// TestTenMessages: 3 fail, 2 are running elsewhere, 1 is a replay, 4 are new.
func TestTenMessages(t *testing.T) {
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

func TestMessageWaitsForItsTwin(t *testing.T) {
	for name, test := range map[string]struct {
		wait, twin, want time.Duration
		reported         int
	}{
		"that ends within the wait":   {0, 4 * time.Second, 4 * time.Second, 0},
		"that ends after the wait":    {0, time.Minute, 5 * time.Second, 1},
		"that ends after its own":     {2 * time.Second, time.Minute, 2 * time.Second, 1},
		"that outlasts the time left": {time.Hour, time.Hour, 29 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := memory.New(0), &shop{}
				end := elsewhere(t, store, order{ID: "o0"})
				time.AfterFunc(test.twin, end)
				handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Wait: test.wait, OnFailure: quiet})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				begun := time.Now()
				answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"})))
				if took := time.Since(begun); err != nil || len(reportedIDs(t, answer)) != test.reported || took < test.want || took >= test.want+time.Second {
					t.Errorf("%s, %v after %v", answer, err, took)
				}
				s.check(t, nil)
				time.Sleep(test.twin)
			})
		})
	}
}

func TestVisibilityOfARunningTwin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		defer elsewhere(t, store, order{ID: "o1"})() // its lease is 1 min
		moved := map[string]time.Duration{}
		failures := &kept{}
		refused := errors.New("no permission")
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{
			OnFailure: failures.keep,
			Visibility: func(_ context.Context, m events.SQSMessage, timeout time.Duration) error {
				moved[m.ReceiptHandle] = timeout
				return refused
			},
		})
		answer, err := deliver(t.Context(), handler, sqsEvent(t,
			message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0", "m1"}) {
			t.Errorf("%s, %v", answer, err)
		}
		// 5 s of waiting are over, and the heartbeat has moved the lease.
		timeout, ok := moved["handle of m1"]
		if len(moved) != 1 || !ok || timeout < 50*time.Second || timeout > 63*time.Second || timeout%time.Second != 0 {
			t.Errorf("moved %v", moved)
		}
		if len(failures.failed) != 2 || !errors.Is(failures.failed[1], refused) || !errors.Is(failures.failed[1], idempotent.ErrInProgress) {
			t.Errorf("told of %v", failures.failed)
		}
	})
}

func TestOneKeyTwiceInABatch(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				time.Sleep(time.Minute) // longer than the wait for a twin elsewhere
				return s.place(m.Body)
			}, &handlers.SQSOptions{Concurrency: concurrency, OnFailure: quiet})
			answer, err := deliver(t.Context(), handler, sqsEvent(t,
				message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Never: true}), message("m2", order{ID: "o0"}), message("m3", order{ID: "o1", Never: true})))
			if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1", "m3"}) {
				t.Errorf("%s, %v", answer, err)
			}
			s.check(t, map[string]int{"o0": 1, "o1": 1})
		})
	}
}

// A message that fails for good comes back until the queue gives it up. It is
// run once, and reported each time.
func TestPoisonRunsOnce(t *testing.T) {
	s, failures := &shop{}, &kept{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: failures.keep})
	undecodable := message("m1", order{})
	undecodable.Body = `{"id": 4711000815}`
	for range 5 {
		answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0", Never: true}), undecodable))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0", "m1"}) {
			t.Fatalf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o0": 1})
	first, again, body := failures.failed[0], failures.failed[2], failures.failed[1]
	if !errors.Is(first, errOutOfStock) || !errors.Is(again, idempotent.ErrReplayed) {
		t.Errorf("told of %v, then of %v", first, again)
	}
	if !errors.Is(body, handlers.ErrDecode) || !strings.Contains(body.Error(), "sqs record 1 (m1)") || strings.Contains(body.Error(), "4711") {
		t.Errorf("told of %v", body)
	}
}

func TestBodies(t *testing.T) {
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

func TestRawDeliveryIsNoEnvelope(t *testing.T) {
	failures := &kept{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[handlers.FromSNS[order]]) error {
		t.Error("ran")
		return nil
	}, &handlers.SQSOptions{OnFailure: failures.keep})
	answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"})))
	if err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.failed[0], handlers.ErrDecode) {
		t.Errorf("%s, %v, told of %v", answer, err, failures.failed)
	}
}

// Without raw delivery, a body is an envelope in which an order has no field.
func TestEnvelopeIsNoBody(t *testing.T) {
	failures := &kept{}
	x := newExecutor(t, memory.New(0), nil)
	refused := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: failures.keep})
	answer, err := deliver(t.Context(), refused, golden(t, "sqs-from-sns.json"))
	if err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.failed[0], handlers.ErrDecode) || !strings.Contains(failures.failed[0].Error(), "FromSNS") {
		t.Errorf("%s, %v, told of %v", answer, err, failures.failed)
	}
	runs := 0
	for name, asked := range map[string]any{
		"the envelope": handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[events.SNSEntity]) error { runs++; return nil }, nil),
		"its text":     handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[string]) error { runs++; return nil }, nil),
		"a map":        handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[map[string]any]) error { runs++; return nil }, nil),
	} {
		if answer, err := deliver(t.Context(), asked, golden(t, "sqs-from-sns.json")); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs", runs)
	}
}

// SNS that sends twice makes two queue messages with one notification.
func TestInnerIDIsTheKey(t *testing.T) {
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[order]]) error {
		return s.place(m.Body.Body)
	}, nil)
	text := golden(t, "sqs-from-sns.json")
	again := []byte(strings.ReplaceAll(string(text), "000000a0-0000", "000000ff-0000"))
	for _, event := range [][]byte{text, again} {
		if answer, err := deliver(t.Context(), handler, event); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o0": 1})
}

// An empty id is no report: Lambda would take the whole batch for failed, or
// none of it. The others run all the same, so that the retry has less to do.
func TestMessageWithoutID(t *testing.T) {
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

func TestOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := &shop{}, &kept{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(4 * time.Second)
			return s.place(m.Body)
		}, &handlers.SQSOptions{Margin: 3 * time.Second, OnFailure: failures.keep})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		// They start with 10, 6 and 2 s left.
		answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"}), message("m3", order{ID: "o3"})))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m2", "m3"}) {
			t.Errorf("%s, %v", answer, err)
		}
		s.check(t, map[string]int{"o0": 1, "o1": 1})
		for _, f := range failures.failed {
			if !errors.Is(f, handlers.ErrNotStarted) {
				t.Errorf("told of %v", f)
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

func TestPanicFailsItsMessageAlone(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		s, failures := &shop{}, &kept{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{Concurrency: concurrency, OnFailure: failures.keep})
		for range 2 {
			answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Panic: true}), message("m2", order{ID: "o2"})))
			if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1"}) {
				t.Errorf("%s, %v", answer, err)
			}
		}
		s.check(t, map[string]int{"o0": 1, "o1": 2, "o2": 1})
		var panicked *handlers.PanicError
		if !errors.As(failures.failed[0], &panicked) || panicked.Value != "no such shelf" || !strings.Contains(string(panicked.Stack), "place") {
			t.Errorf("told of %v", failures.failed[0])
		}
	}
}

// panicky is a body whose decoder panics.
type panicky struct{}

func (*panicky) UnmarshalJSON([]byte) error { panic("decoder") }

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

// A goroutine that ends itself leaves no error behind. That must not look like
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

func TestErrorIfAllFailed(t *testing.T) {
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
func TestStoreIsDown(t *testing.T) {
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(1), nil), nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
	answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})))
	if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m1", "m2"}) {
		t.Errorf("%s, %v", answer, err)
	}
	s.check(t, map[string]int{"o0": 1})
}
