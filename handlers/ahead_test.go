package handlers_test

import (
	"context"
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
	"github.com/lambda-once/once/internal/check"
)

const latency = 10 * time.Millisecond

// distant is a store whose answers take time. It counts its calls, and how many
// functions have run without a recorded completion.
type distant struct {
	driver.Store
	mu                    sync.Mutex
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
		ahead            int
		o                handlers.SQSOptions
		first, redeliver time.Duration
	}{
		{-1, handlers.SQSOptions{}, 10*(2*latency) + 10*time.Millisecond, 10 * latency},
		{0, handlers.SQSOptions{}, latency + 10*latency + 10*time.Millisecond, latency},
		{0, handlers.SQSOptions{Unrecorded: 10}, latency + 10*time.Millisecond + latency, latency},
		{0, handlers.SQSOptions{Concurrency: 5}, latency + 2*(time.Millisecond+latency), latency},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &distant{Store: memory.New(0)}
			handler := d.queue(t, &idempotent.Config{Ahead: test.ahead}, test.o)
			messages, ids := orders(10)
			for i, want := range []time.Duration{test.first, test.redeliver} {
				begun := time.Now()
				reports(t, t.Context(), handler, messages, "")
				check.Equal(t, time.Since(begun), want, test.o, "delivery", i+1)
			}
			if test.o.Concurrency == 0 {
				check.Slice(t, d.started, ids, test.o)
			}
			check.Equal(t, d.mostAtOnce, max(test.o.Concurrency, 1), test.o)
		})
	}
}

// A crash can repeat as many functions as have run without a completion that
// landed.
func TestUnrecordedFunctionsAreBounded(t *testing.T) {
	for _, test := range []struct{ concurrency, unrecorded, want int }{
		{0, 0, 1}, {3, 0, 3}, {1, 4, 4}, {2, 10, 10}, {5, 2, 2},
	} {
		d := ranQueue(t, nil, handlers.SQSOptions{Concurrency: test.concurrency, Unrecorded: test.unrecorded})
		check.Equal(t, d.mostOpen, test.want, test)
	}
}

// Where attempts count, a crash in the first message must not use up one of the tenth.
func TestWindowBoundsClaimsAhead(t *testing.T) {
	for _, test := range []struct {
		config idempotent.Config
		want   int
	}{{idempotent.Config{Ahead: -1}, 1}, {idempotent.Config{Ahead: 3}, 4}, {want: 11}, {idempotent.Config{Ahead: 10, MaxAttempts: 3}, 1}} {
		check.Equal(t, ranQueue(t, &test.config, handlers.SQSOptions{}).mostUnstarted, test.want, test)
	}
}

// ranQueue returns a queue's function that has run forty orders.
func ranQueue(t *testing.T, config *idempotent.Config, o handlers.SQSOptions) *distant {
	t.Helper()
	d := &distant{Store: memory.New(0)}
	synctest.Test(t, func(t *testing.T) {
		messages, ids := orders(40)
		reports(t, t.Context(), d.queue(t, config, o), messages, "")
		check.Equal(t, len(d.started), len(ids))
	})
	return d
}

// Whatever Unrecorded says, what runs in order starts when its predecessor is
// durably completed.
func TestOrderedRecordsStartAfterADurableCompletion(t *testing.T) {
	for _, groups := range [][]string{{"g"}, {"a", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			d := &distant{Store: memory.New(0)}
			messages, ids := orders(12)
			handler := d.queue(t, nil, handlers.SQSOptions{Concurrency: 4, Unrecorded: 10})
			reports(t, t.Context(), handler, inGroups(messages, groups...), "", groups)
			check.Equal(t, d.mostOpen, len(groups))
			check.Slice(t, slices.Sorted(slices.Values(d.started)), ids, groups)
		})
	}
}

// After a failure in a lane the later claims are given back at the same time,
// and the next delivery runs them at once, as first attempts.
func TestClaimsAfterAFailureAreGivenBackTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &distant{Store: memory.New(0)}
		seen := &observed{}
		handler := d.queue(t, &idempotent.Config{Ahead: 20, Observer: seen}, handlers.SQSOptions{})
		messages, ids := orders(20)
		messages = inGroups(messages, "g")
		body := messages[0].Body
		messages[0].Body = `{"id":"o00","fail":true}`
		begun := time.Now()
		answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...))
		check.Must(t, err)
		check.Equal(t, len(reportedIDs(t, answer)), 20)
		check.Equal(t, time.Since(begun), 3*latency+time.Millisecond)
		for _, e := range seen.events {
			if e.Outcome == idempotent.OutcomeNotRun {
				check.Equal(t, e.Handler, 0)
				check.Equal(t, e.Attempt, 0)
				check.Equal(t, e.RoundTrips, 2)
			}
		}
		check.Equal(t, seen.count(idempotent.OutcomeNotRun), 19)
		messages[0].Body = body
		d.started, seen.events = nil, nil
		reports(t, t.Context(), handler, messages, "")
		check.Equal(t, seen.count(idempotent.OutcomeExecuted), 20, "first attempts")
		check.Slice(t, d.started, ids)
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

// A message without a key has nothing to claim, so it is one call.
func TestMessageThatCannotRunIsObservedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &observed{}
		handler := (&distant{Store: memory.New(0)}).queue(t, &idempotent.Config{Observer: seen}, handlers.SQSOptions{})
		messages, _ := orders(3)
		messages[1].Body = "{"
		reports(t, t.Context(), handler, messages, "m01")
		check.Equal(t, len(seen.events), 3)
		check.Equal(t, seen.count(idempotent.OutcomeFailed), 1)
	})
}

// An outage at the beginning of a batch leaves only those messages unprotected
// whose turn comes in it.
func TestOutageBeforeTheTurnRunsNothingUnprotected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, begun := &observed{}, time.Now()
		store := intercepted{memory.New(0), func(_ context.Context, c storeCall, call func() error) error {
			if c.op != "read" && time.Since(begun) < time.Second {
				return driver.ErrUnavailable
			}
			return call()
		}}
		x := newExecutor(t, store, &idempotent.Config{Observer: seen, OnStoreError: idempotent.FailOpen})
		handler := handlers.SQS(x, orderID, func(context.Context, handlers.SQSMessage[order]) error {
			time.Sleep(2 * time.Second)
			return nil
		}, &handlers.SQSOptions{OnFailure: quiet})
		messages, _ := orders(5)
		reports(t, t.Context(), handler, messages, "")
		check.Equal(t, seen.count(idempotent.OutcomeBypassed), 1)
		check.Equal(t, seen.count(idempotent.OutcomeExecuted), 4)
	})
}

// A duplicate elsewhere that ends before the record's turn is a replay, and no
// conflict. Nothing is observed twice.
func TestRecordThatMeetsADuplicateAheadIsDecidedAgainInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, seen := &distant{Store: memory.New(0)}, &observed{}
		time.AfterFunc(time.Second, elsewhere(t, d.Store, order{ID: "o01"}))
		o := handlers.SQSOptions{Visibility: func(context.Context, events.SQSMessage, time.Duration) error {
			t.Error("the visibility changed")
			return nil
		}}
		handler := handlers.SQS(newExecutor(t, d, &idempotent.Config{Observer: seen}), orderID, func(context.Context, handlers.SQSMessage[order]) error {
			time.Sleep(2 * time.Second)
			return nil
		}, &o)
		messages, _ := orders(2)
		reports(t, t.Context(), handler, messages, "")
		check.Equal(t, seen.count(idempotent.OutcomeNotRun), 1)
		check.Equal(t, seen.count(idempotent.OutcomeReplayed), 1)
		check.Equal(t, seen.count(idempotent.OutcomeConflict), 0)
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
			continuesFrom(t, t.Context(), first, event, "")
		}
		check.Slice(t, calls, []string{"ran o0", "ran o1", "poison p", "ran o2", "poison p"})

		// A stored failure that is known ahead is not acted upon before its turn.
		event = kinesisEvent(t, "pppp", order{ID: "o9", Fail: true}, order{ID: "o1", Never: true})
		event.Records[0].EventID = "shardId-000000000000:9"
		failing := handlers.Kinesis(x, nil, func(context.Context, handlers.KinesisRecord[order]) error {
			time.Sleep(time.Second)
			return errOutOfStock
		}, &handlers.KinesisOptions{OnFailure: quiet, Poison: noPoison[events.KinesisEventRecord](t)})
		continuesFrom(t, t.Context(), failing, event, "seq0")
	})
}

// The time is checked again when the turn comes: what has none left is given
// back.
func TestMarginIsCheckedAgainInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, failures := &distant{Store: memory.New(0)}, &received{}
		handler := handlers.SQS(newExecutor(t, d, &idempotent.Config{Margin: 3 * time.Second}), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
			d.run(m.Body.ID)
			time.Sleep(4 * time.Second)
			return nil
		}, &handlers.SQSOptions{OnFailure: failures.Receive})
		messages, _ := orders(4)
		// They start with 10, 6 and 2 s left.
		reports(t, within(t, 10*time.Second), handler, messages, "m02 m03")
		check.Slice(t, d.started, []string{"o00", "o01"})
		allAre(t, failures, handlers.ErrNotStarted)
		reports(t, t.Context(), d.queue(t, nil, handlers.SQSOptions{}), messages, "", "the claims were given back")
	})
}
