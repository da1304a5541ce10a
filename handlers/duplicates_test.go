package handlers_test

import (
	"context"
	"errors"
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

// elsewhere runs an order in another process until the test lets it end.
func elsewhere(t *testing.T, store driver.Store, o order) (end func()) {
	x := newExecutor(t, store, nil)
	begun, let, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: o.ID, Payload: o}, func(context.Context) (struct{}, error) {
			close(begun)
			<-let
			return struct{}{}, nil
		})
		check.Nil(t, err, "elsewhere")
	}()
	<-begun
	return func() { close(let); <-ended }
}

// The wait of the queue's handler applies, and not the executor's.
func TestMessageWaitsForItsDuplicate(t *testing.T) {
	for name, test := range map[string]struct {
		duplicate, within, want time.Duration
		reported                string
	}{
		"that ends within the wait":   {4 * time.Second, 30 * time.Second, 4 * time.Second, ""},
		"that ends after the wait":    {time.Minute, 30 * time.Second, 5 * time.Second, "m0"},
		"that outlasts the time left": {time.Hour, 4 * time.Second, 3 * time.Second, "m0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := memory.New(0), &shop{}
				end := elsewhere(t, store, order{ID: "o0"})
				time.AfterFunc(test.duplicate, end)
				handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Wait: time.Hour}), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
				begun := time.Now()
				reports(t, within(t, test.within), handler, batch{message("m0", order{ID: "o0"})}, test.reported)
				check.Equal(t, time.Since(begun).Truncate(time.Second), test.want)
				s.check(t, nil)
				time.Sleep(test.duplicate)
			})
		})
	}
}

// The error of a message that was postponed is the conflict, and nothing that is joined
// to it.
func TestVisibilityDelaysARunningDuplicate(t *testing.T) {
	for _, refused := range []error{nil, errors.New("no permission")} {
		synctest.Test(t, func(t *testing.T) {
			store, s := memory.New(0), &shop{}
			defer elsewhere(t, store, order{ID: "o1"})() // its lease is 1 min
			moved := map[string]time.Duration{}
			failures := &received{}
			handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{
				OnFailure: failures.Receive,
				Visibility: func(_ context.Context, m events.SQSMessage, timeout time.Duration) error {
					moved[m.ReceiptHandle] = timeout
					return refused
				},
			})
			reports(t, t.Context(), handler, batch{message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"}), message("m2", order{ID: "o2"})}, "m0 m1")
			// 5 s of waiting are over, and the heartbeat has moved the lease.
			timeout, ok := moved["handle of m1"]
			check.True(t, ok)
			check.Equal(t, len(moved), 1)
			check.True(t, timeout >= 50*time.Second, timeout)
			check.True(t, timeout <= 63*time.Second, timeout)
			check.Equal(t, timeout%time.Second, 0)
			check.Equal(t, len(failures.Failed), 2)
			check.Equal(t, errors.Is(failures.Failed[1], refused), refused != nil)
			check.Is(t, failures.Failed[1], idempotent.ErrInProgress)
			_, alone := failures.Failed[1].Err.(*idempotent.InProgressError)
			check.Equal(t, alone, refused == nil, failures.Failed[1])
		})
	}
}

// The groups of a FIFO queue run at the same time, one key in two of them does not.
func TestOneKeyTwiceInABatchRunsOnce(t *testing.T) {
	for concurrency, fifo := range map[int]bool{1: false, 8: false, 4: true} {
		synctest.Test(t, func(t *testing.T) {
			s := &shop{}
			handler := handlers.SQS(newExecutor(t, memory.New(0), nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				time.Sleep(time.Minute) // longer than the wait for a duplicate elsewhere
				return s.place(m.Body)
			}, &handlers.SQSOptions{Concurrency: concurrency, OnFailure: quiet})
			messages := batch{message("m0", order{ID: "o0"}), message("m1", order{ID: "o1", Never: true}), message("m2", order{ID: "o0"}), message("m3", order{ID: "o1", Never: true})}
			if fifo {
				messages = inGroups(messages, "g1", "g2", "g3", "g4")
			}
			reports(t, t.Context(), handler, messages, "m1 m3", concurrency)
			s.check(t, map[string]int{"o0": 1, "o1": 1})
		})
	}
}

// Two tenants may use the same ids, and messages without a key are not one.
func TestMessagesOfDifferentKeysDoNotWaitForEachOther(t *testing.T) {
	for name, key := range map[string]func(handlers.SQSMessage[order]) (idempotent.Key, error){
		"two scopes": func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			return idempotent.Key{Scope: m.Source.MessageId, ID: m.Body.ID}, nil
		},
		"no key": func(handlers.SQSMessage[order]) (idempotent.Key, error) { return idempotent.Key{}, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
			handler := handlers.SQS(x, key, func(context.Context, handlers.SQSMessage[order]) error {
				time.Sleep(time.Second)
				return nil
			}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
			begun := time.Now()
			reports(t, t.Context(), handler, batch{message("m0", order{ID: "o0"}), message("m1", order{ID: "o0"})}, "", name)
			check.Equal(t, time.Since(begun), time.Second, name)
		})
	}
}

// A conflict would cost one of Lambda's two retries.
func TestAsynchronousSourcesWaitForADuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		end := elsewhere(t, store, order{ID: "o0"})
		time.AfterFunc(9*time.Minute, end)
		handler := handlers.SNS(newExecutor(t, store, nil), byID, place[events.SNSEventRecord](s), nil)
		_, err := deliver(within(t, 15*time.Minute), handler, snsEvent(t, order{ID: "o0"}))
		check.Nil(t, err)
		s.check(t, nil)
	})
}
