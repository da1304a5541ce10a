package handlers_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The groups of a FIFO queue run at the same time, one key in two of them does
// not.
func TestOneKeyInTwoGroupsRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(10 * time.Second)
			return s.place(m.Body)
		}, &handlers.SQSOptions{Concurrency: 2, ContinueGroups: true, OnFailure: quiet})
		a, b := message("m0", order{ID: "o0"}), message("m1", order{ID: "o0"})
		a.EventSourceARN += ".fifo"
		b.EventSourceARN += ".fifo"
		a.Attributes, b.Attributes = map[string]string{"MessageGroupId": "g1"}, map[string]string{"MessageGroupId": "g2"}
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, a, b)); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
		s.check(t, map[string]int{"o0": 1})
	})
}

// The error of a message that was postponed is the conflict, and nothing that
// is joined to it.
func TestPostponedMessageFailsWithTheConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, failures := memory.New(0), &received{}
		defer elsewhere(t, store, order{ID: "o0"})()
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{
			OnFailure:  failures.Receive,
			Visibility: func(context.Context, events.SQSMessage, time.Duration) error { return nil },
		})
		if _, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}))); err != nil {
			t.Fatal(err)
		}
		if _, ok := failures.Failed[0].Err.(*idempotent.InProgressError); !ok {
			t.Errorf("received a %T", failures.Failed[0].Err)
		}
	})
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

func TestMessageWaitsForItsDuplicate(t *testing.T) {
	for name, test := range map[string]struct {
		wait, duplicate, want time.Duration
		reported              int
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
				time.AfterFunc(test.duplicate, end)
				handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Wait: test.wait, OnFailure: quiet})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				begun := time.Now()
				answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"})))
				if took := time.Since(begun); err != nil || len(reportedIDs(t, answer)) != test.reported || took < test.want || took >= test.want+time.Second {
					t.Errorf("%s, %v after %v", answer, err, took)
				}
				s.check(t, nil)
				time.Sleep(test.duplicate)
			})
		})
	}
}

func TestVisibilityDelaysARunningDuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		defer elsewhere(t, store, order{ID: "o1"})() // its lease is 1 min
		moved := map[string]time.Duration{}
		failures := &received{}
		refused := errors.New("no permission")
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{
			OnFailure: failures.Receive,
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
		if len(failures.Failed) != 2 || !errors.Is(failures.Failed[1], refused) || !errors.Is(failures.Failed[1], idempotent.ErrInProgress) {
			t.Errorf("received %v", failures.Failed)
		}
	})
}

func TestOneKeyTwiceInABatchRunsOnce(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				time.Sleep(time.Minute) // longer than the wait for a duplicate elsewhere
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

// Messages without a key are not one.
func TestMessagesWithoutKeyAreNoDuplicates(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	var running atomic.Int64
	together := make(chan struct{})
	handler := handlers.SQS(x, func(handlers.SQSMessage[string]) (idempotent.Key, error) { return idempotent.Key{}, nil }, func(ctx context.Context, _ handlers.SQSMessage[string]) error {
		if running.Add(1) == 2 {
			close(together)
		}
		select {
		case <-together:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{}), message("m1", order{})))
	if err != nil || len(reportedIDs(t, answer)) != 0 {
		t.Errorf("%s, %v", answer, err)
	}
}

// A conflict would cost one of Lambda's two retries.
func TestAsynchronousSourcesWaitForADuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		end := elsewhere(t, store, order{ID: "o0"})
		time.AfterFunc(9*time.Minute, end)
		byID := func(e handlers.SNSMessage[order]) (idempotent.Key, error) {
			return idempotent.Key{ID: e.Body.ID}, nil
		}
		handler := handlers.SNS(newExecutor(t, store, nil), byID, place[events.SNSEventRecord](s), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		if _, err := deliver(ctx, handler, snsEvent(t, order{ID: "o0"})); err != nil {
			t.Error(err)
		}
		s.check(t, nil)
	})
}
