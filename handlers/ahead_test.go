package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

const latency = 10 * time.Millisecond

// distant is a store whose answers take time. It counts its calls, and how many
// functions have run without a recorded completion.
type distant struct {
	driver.Store
	mu                    sync.Mutex
	calls                 int
	unrecorded, mostOpen  int // functions that began, and whose completion has not landed
	running, mostAtOnce   int
	claims, mostUnstarted int
	started               []string
}

func (d *distant) see(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *distant) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	d.see(func() { d.calls++ })
	time.Sleep(latency / 2)
	met, ok, err := d.Store.Create(ctx, r, cutoff, with)
	d.see(func() {
		if ok {
			d.claims++
			d.mostUnstarted = max(d.mostUnstarted, d.claims-len(d.started))
		}
	})
	time.Sleep(latency / 2)
	return met, ok, err
}

func (d *distant) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	d.see(func() { d.calls++ })
	time.Sleep(latency / 2)
	met, ok, err := d.Store.Change(ctx, f, c)
	if c.Status != "" {
		d.see(func() { d.unrecorded-- })
	}
	time.Sleep(latency / 2)
	return met, ok, err
}

// run is a function that takes a moment.
func (d *distant) run(id string) {
	d.see(func() {
		d.started = append(d.started, id)
		d.unrecorded++
		d.running++
		d.mostOpen, d.mostAtOnce = max(d.mostOpen, d.unrecorded), max(d.mostAtOnce, d.running)
	})
	time.Sleep(time.Millisecond)
	d.see(func() { d.running-- })
}

// queue is a queue's function over a distant store.
func (d *distant) queue(t testing.TB, config *idempotent.Config, o handlers.SQSOptions) any {
	if o.OnFailure == nil {
		o.OnFailure = quiet
	}
	return handlers.SQS(newExecutor(t, d, config), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
		d.run(m.Body.ID)
		if m.Body.Fail {
			return errOutOfStock
		}
		return nil
	}, &o)
}

func orders(n int) (messages []events.SQSMessage, ids []string) {
	for i := range n {
		id := fmt.Sprintf("o%02d", i)
		ids = append(ids, id)
		messages = append(messages, message(fmt.Sprintf("m%02d", i), order{ID: id}))
	}
	return messages, ids
}

// The claims of a batch are one wait for the store. What follows depends on how
// many functions may be unrecorded.
func TestBatchWaitsOnceForItsClaims(t *testing.T) {
	for _, test := range []struct {
		o                handlers.SQSOptions
		first, redeliver time.Duration
	}{
		{handlers.SQSOptions{Ahead: -1}, 10*(2*latency) + 10*time.Millisecond, 10 * latency},
		{handlers.SQSOptions{}, latency + 10*latency + 10*time.Millisecond, latency},
		{handlers.SQSOptions{Unrecorded: 10}, latency + 10*time.Millisecond + latency, latency},
		{handlers.SQSOptions{Concurrency: 5}, latency + 2*(time.Millisecond+latency), latency},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &distant{Store: memory.New(0)}
			handler := d.queue(t, nil, test.o)
			messages, ids := orders(10)
			for i, want := range []time.Duration{test.first, test.redeliver} {
				begun := time.Now()
				if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 0 {
					t.Fatalf("%s, %v", answer, err)
				}
				if took := time.Since(begun); took != want {
					t.Errorf("%+v: delivery %d took %v, want %v", test.o, i+1, took, want)
				}
			}
			if d.mostAtOnce == 1 && !slices.Equal(d.started, ids) {
				t.Errorf("%+v: started %v", test.o, d.started)
			}
			if want := max(test.o.Concurrency, 1); d.mostAtOnce != want {
				t.Errorf("%+v: %d ran at once", test.o, d.mostAtOnce)
			}
		})
	}
}

// A crash can repeat as many functions as have run without a completion that
// landed.
func TestUnrecordedFunctionsAreBounded(t *testing.T) {
	for _, test := range []struct{ concurrency, unrecorded, want int }{
		{0, 0, 1}, {3, 0, 3}, {1, 4, 4}, {2, 10, 10}, {5, 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &distant{Store: memory.New(0)}
			messages, _ := orders(40)
			if _, err := deliver(t.Context(), d.queue(t, nil, handlers.SQSOptions{Concurrency: test.concurrency, Unrecorded: test.unrecorded}), sqsEvent(t, messages...)); err != nil {
				t.Fatal(err)
			}
			if d.mostOpen != test.want || len(d.started) != 40 {
				t.Errorf("%+v: %d functions were unrecorded at once, %d ran", test, d.mostOpen, len(d.started))
			}
		})
	}
}

func TestWindowBoundsClaimsAhead(t *testing.T) {
	for ahead, want := range map[int]int{-1: 1, 3: 4, 0: 11} {
		synctest.Test(t, func(t *testing.T) {
			d := &distant{Store: memory.New(0)}
			messages, _ := orders(40)
			if _, err := deliver(t.Context(), d.queue(t, nil, handlers.SQSOptions{Ahead: ahead}), sqsEvent(t, messages...)); err != nil {
				t.Fatal(err)
			}
			if d.mostUnstarted != want {
				t.Errorf("ahead %d: %d claims had not started", ahead, d.mostUnstarted)
			}
		})
	}
}

// Whatever Unrecorded says, what runs in order starts when its predecessor is
// durably completed.
func TestOrderedRecordsStartAfterADurableCompletion(t *testing.T) {
	fifo := func(t *testing.T, d *distant) any {
		return d.queue(t, nil, handlers.SQSOptions{Concurrency: 4, Unrecorded: 10, ContinueGroups: true})
	}
	for name, group := range map[string]func(i int) string{
		"one group":  func(int) string { return "g" },
		"two groups": func(i int) string { return string(rune('a' + i%2)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &distant{Store: memory.New(0)}
				messages, ids := orders(12)
				groups := map[string]bool{}
				for i := range messages {
					messages[i].EventSourceARN += ".fifo"
					messages[i].Attributes = map[string]string{"MessageGroupId": group(i)}
					groups[group(i)] = true
				}
				if answer, err := deliver(t.Context(), fifo(t, d), sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 0 {
					t.Fatalf("%s, %v", answer, err)
				}
				if d.mostOpen != len(groups) || !slices.Equal(slices.Sorted(slices.Values(d.started)), ids) {
					t.Errorf("%d of a group were unrecorded at once; started %v", d.mostOpen, d.started)
				}
			})
		})
	}
}

// After a failure in a lane the later claims are given back at the same time,
// and the next delivery runs them at once, as first attempts.
func TestClaimsAfterAFailureAreGivenBackTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &distant{Store: memory.New(0)}
		seen := &observed{}
		handler := d.queue(t, &idempotent.Config{Observer: seen}, handlers.SQSOptions{Ahead: 20})
		messages, ids := orders(20)
		for i := range messages {
			messages[i].EventSourceARN += ".fifo"
		}
		messages[0] = message("m00", order{ID: "o00", Fail: true})
		messages[0].EventSourceARN += ".fifo"
		begun := time.Now()
		answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...))
		if err != nil || len(reportedIDs(t, answer)) != 20 {
			t.Fatalf("%s, %v", answer, err)
		}
		if took := time.Since(begun); took != 3*latency+time.Millisecond {
			t.Errorf("it took %v", took)
		}
		for _, e := range seen.events {
			if e.Outcome == idempotent.OutcomeNotRun && (e.Handler != 0 || e.Attempt != 0 || e.RoundTrips != 2) {
				t.Errorf("observed %+v", e)
			}
		}
		if n := seen.count(idempotent.OutcomeNotRun); n != 19 {
			t.Errorf("%d were not run", n)
		}
		messages[0] = message("m00", order{ID: "o00"})
		messages[0].EventSourceARN += ".fifo"
		d.started, seen.events = nil, nil
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Fatalf("%s, %v", answer, err)
		}
		if n := seen.count(idempotent.OutcomeExecuted); n != 20 || !slices.Equal(d.started, ids) {
			t.Errorf("%d were first attempts; started %v", n, d.started)
		}
	})
}

type observed struct {
	mu     sync.Mutex
	events []idempotent.Event
}

func (o *observed) Observe(_ context.Context, e idempotent.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

func (o *observed) count(outcome idempotent.Outcome) (n int) {
	for _, e := range o.events {
		if e.Outcome == outcome {
			n++
		}
	}
	return n
}

// A crash in the first message must not use up an attempt of the tenth.
func TestNothingIsClaimedAheadWhereAttemptsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &distant{Store: memory.New(0)}
		messages, _ := orders(10)
		if _, err := deliver(t.Context(), d.queue(t, &idempotent.Config{MaxAttempts: 3}, handlers.SQSOptions{Ahead: 10}), sqsEvent(t, messages...)); err != nil {
			t.Fatal(err)
		}
		if d.mostUnstarted != 1 {
			t.Errorf("%d claims had not started", d.mostUnstarted)
		}
	})
}

// A duplicate elsewhere that ends before the record's turn is a replay, and no
// conflict. Nothing is observed twice.
func TestRecordThatMeetsADuplicateAheadIsDecidedAgainInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, seen := &distant{Store: memory.New(0)}, &observed{}
		time.AfterFunc(time.Second, elsewhere(t, d.Store, order{ID: "o01"}))
		o := handlers.SQSOptions{Wait: time.Nanosecond, Visibility: func(context.Context, events.SQSMessage, time.Duration) error {
			t.Error("the visibility changed")
			return nil
		}}
		handler := handlers.SQS(newExecutor(t, d, &idempotent.Config{Observer: seen}), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(2 * time.Second)
			return nil
		}, &o)
		messages, _ := orders(2)
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
		if seen.count(idempotent.OutcomeNotRun) != 1 || seen.count(idempotent.OutcomeReplayed) != 1 || seen.count(idempotent.OutcomeConflict) != 0 {
			t.Errorf("observed %+v", seen.events)
		}
	})
}

// The option receives a record in its turn, and after it has failed nothing
// that follows in its lane.
func TestOptionsAreCalledInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &distant{Store: memory.New(0)}
		x := newExecutor(t, d, nil)
		var calls []string
		first := handlers.Kinesis(x, nil, func(_ context.Context, r handlers.KinesisRecord[order]) error {
			calls = append(calls, "ran "+r.Body.ID)
			time.Sleep(time.Second)
			if r.Body.Never {
				return idempotent.Permanent(errOutOfStock)
			}
			return nil
		}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, r events.KinesisEventRecord, _ error) error {
			calls = append(calls, "poison "+r.Kinesis.PartitionKey)
			return nil
		}})
		event := kinesisEvent(t, "ppp", order{ID: "o0"}, order{ID: "o1", Never: true}, order{ID: "o2"})
		for range 2 {
			if _, err := first(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"ran o0", "ran o1", "poison p", "ran o2", "poison p"}; !slices.Equal(calls, want) {
			t.Errorf("%v, want %v", calls, want)
		}

		// A stored failure that is known ahead is not acted upon before its turn.
		calls = nil
		event = kinesisEvent(t, "pppp", order{ID: "o9", Fail: true}, order{ID: "o1", Never: true})
		event.Records[0].EventID, event.Records[0].Kinesis.SequenceNumber = "shardId-000000000000:9", "9"
		failing := handlers.Kinesis(x, nil, func(context.Context, handlers.KinesisRecord[order]) error {
			time.Sleep(time.Second)
			return errOutOfStock
		}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(context.Context, events.KinesisEventRecord, error) error {
			t.Error("a record after the failure reached the option")
			return nil
		}})
		if answer, err := failing(t.Context(), event); err != nil || len(answer.BatchItemFailures) != 1 {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

// The time is checked again when the turn comes: what has none left is given
// back.
func TestMarginIsCheckedAgainInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, failures := &distant{Store: memory.New(0)}, &received{}
		handler := handlers.SQS(newExecutor(t, d, nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
			d.run(m.Body.ID)
			time.Sleep(7 * time.Second)
			return nil
		}, &handlers.SQSOptions{OnFailure: failures.Receive, Margin: 4 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		messages, _ := orders(3)
		answer, err := deliver(ctx, handler, sqsEvent(t, messages...))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m01", "m02"}) || !slices.Equal(d.started, []string{"o00"}) {
			t.Errorf("%s, %v, started %v", answer, err, d.started)
		}
		for _, f := range failures.Failed {
			if !errors.Is(f, handlers.ErrNotStarted) {
				t.Errorf("%v", f)
			}
		}
		again, err := deliver(t.Context(), d.queue(t, nil, handlers.SQSOptions{Wait: time.Nanosecond}), sqsEvent(t, messages...))
		if err != nil || len(reportedIDs(t, again)) != 0 {
			t.Errorf("the claims were not given back: %s, %v", again, err)
		}
	})
}
