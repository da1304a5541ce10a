package handlers_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func idOf(t *testing.T, o order) string {
	t.Helper()
	key, err := orderID(handlers.SQSMessage[order]{Body: o})
	if err != nil {
		t.Fatal(err)
	}
	id, err := key.RecordID("create-payment")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A claim that is never answered is reported as failed. Every other record runs
// and is acknowledged, and the report arrives before the end of the invocation.
func TestHungClaimCostsItsOwnRecord(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	const size = 10
	for _, o := range []handlers.SQSOptions{{}, {Ahead: -1}, {Concurrency: 3}, {Ahead: -1, Concurrency: 3}, {Ahead: 2}, {Unrecorded: 10}} {
		for _, config := range []*idempotent.Config{nil, {MaxAttempts: 1}, {ReadFirst: true}} {
			for _, timeout := range []time.Duration{3 * time.Second, 6 * time.Second, 30 * time.Second, 15 * time.Minute} {
				for _, at := range []int{0, 4, size - 1} {
					synctest.Test(t, func(t *testing.T) {
						messages, ids := orders(size)
						d := &distant{Store: hung{memory.New(0), idOf(t, order{ID: ids[at]})}}
						ctx, cancel := context.WithTimeout(t.Context(), timeout)
						defer cancel()
						begun := time.Now()
						answer, err := deliver(ctx, d.queue(t, config, o), sqsEvent(t, messages...))
						if took, most := time.Since(begun), min(timeout-500*time.Millisecond, 12*time.Second); took > most {
							t.Errorf("%+v, %v, %d: it took %v", o, timeout, at, took)
						}
						if err != nil || !slices.Equal(reportedIDs(t, answer), []string{messages[at].MessageId}) {
							t.Errorf("%+v, %v, %d: %s, %v", o, timeout, at, answer, err)
						}
						slices.Sort(d.started)
						if want := slices.Delete(ids, at, at+1); !slices.Equal(d.started, want) {
							t.Errorf("%+v, %v, %d: started %v", o, timeout, at, d.started)
						}
					})
				}
			}
		}
	}
}

// hungFinish is a store that never answers the completion of one record.
type hungFinish struct {
	driver.Store
	id string
}

func (h hungFinish) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if f.ID == h.id && c.Status != "" {
		<-ctx.Done()
		return driver.Record{}, false, ctx.Err()
	}
	return h.Store.Change(ctx, f, c)
}

// The report arrives although one completion is tried to the end.
func TestHungCompletionDoesNotLoseTheReport(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		o    handlers.SQSOptions
		done int
	}{{handlers.SQSOptions{}, 4}, {handlers.SQSOptions{Ahead: -1}, 4}, {handlers.SQSOptions{Unrecorded: 10}, 9}, {handlers.SQSOptions{Margin: time.Millisecond}, 4}} {
		for _, timeout := range []time.Duration{3 * time.Second, 30 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				messages, ids := orders(10)
				d := &distant{Store: hungFinish{memory.New(0), idOf(t, order{ID: ids[4]})}}
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				begun := time.Now()
				answer, err := deliver(ctx, d.queue(t, nil, c.o), sqsEvent(t, messages...))
				if took := time.Since(begun); took > timeout-50*time.Millisecond {
					t.Errorf("%+v: it returned %v before the end of its invocation", c.o, timeout-took)
				}
				reported := reportedIDs(t, answer)
				if err != nil || len(reported) != 10-c.done || reported[0] != messages[4].MessageId {
					t.Errorf("%+v: %s, %v", c.o, answer, err)
				}
			})
		}
	}
}

// A record whose executor can do without the store runs, and so do the others.
func TestHungClaimOfABatchFailsOpen(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, ahead := range []int{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			messages, ids := orders(10)
			d := &distant{Store: hung{memory.New(0), idOf(t, order{ID: ids[4]})}}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			answer, err := deliver(ctx, d.queue(t, &idempotent.Config{OnStoreError: idempotent.FailOpen}, handlers.SQSOptions{Ahead: ahead}), sqsEvent(t, messages...))
			if err != nil || len(reportedIDs(t, answer)) != 0 || !slices.Equal(d.started, ids) {
				t.Errorf("%d: %s, %v: started %v", ahead, answer, err, d.started)
			}
		})
	}
}

// Behind a claim that is never answered nothing of its lane runs.
func TestHungClaimStopsItsLane(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		o    handlers.SQSOptions
		want []string // reported
	}{
		{handlers.SQSOptions{}, []string{"m03", "m04", "m05"}},
		{handlers.SQSOptions{Ahead: -1}, []string{"m03", "m04", "m05"}},
		{handlers.SQSOptions{ContinueGroups: true}, []string{"m03", "m05"}}, // of the group with odd numbers
		{handlers.SQSOptions{ContinueGroups: true, Ahead: -1}, []string{"m03", "m05"}},
		{handlers.SQSOptions{ContinueGroups: true, Concurrency: 2}, []string{"m03", "m05"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			messages, ids := orders(6)
			for i := range messages {
				messages[i].EventSourceARN += ".fifo"
				messages[i].Attributes = map[string]string{"MessageGroupId": []string{"even", "odd"}[i%2]}
			}
			d := &distant{Store: hung{memory.New(0), idOf(t, order{ID: ids[3]})}}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			answer, err := deliver(ctx, d.queue(t, nil, c.o), sqsEvent(t, messages...))
			if err != nil || !slices.Equal(reportedIDs(t, answer), c.want) {
				t.Errorf("%+v: %s, %v", c.o, answer, err)
			}
			for i, m := range messages {
				if slices.Contains(d.started, ids[i]) == slices.Contains(c.want, m.MessageId) {
					t.Errorf("%+v: started %v", c.o, d.started)
				}
			}
		})
	}
}

// All connections are dead, as after a long rest of the process: the claims that
// were made ahead fail together, and those in their turn use new connections.
func TestRecordsRunAfterAllClaimsAheadHung(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		messages, ids := orders(10)
		begun := time.Now()
		store := &unanswered{Store: memory.New(0), hangs: func(string) bool { return time.Since(begun) < time.Second }}
		d := &distant{Store: store}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		answer, err := deliver(ctx, d.queue(t, nil, handlers.SQSOptions{}), sqsEvent(t, messages...))
		// The first record is claimed in its turn.
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m00"}) || !slices.Equal(d.started, ids[1:]) {
			t.Errorf("%s, %v: started %v", answer, err, d.started)
		}
		if took := time.Since(begun); took > 7*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// unanswered is a store whose claims hang as long as hangs says.
type unanswered struct {
	driver.Store
	hangs func(id string) bool
}

func (u *unanswered) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if u.hangs(r.ID) {
		<-ctx.Done()
		return driver.Record{}, false, ctx.Err()
	}
	return u.Store.Create(ctx, r, cutoff, with)
}

// slowClaim is a store that answers the claims, or the takeovers, of one record
// after 3 s, whatever their context.
type slowClaim struct {
	driver.Store
	id        string
	takeovers bool
	taken     *int // how often it was taken over
}

func (s slowClaim) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	met, ok, err := s.Store.Create(ctx, r, cutoff, with)
	if r.ID == s.id && !s.takeovers {
		time.Sleep(3 * time.Second)
	}
	return met, ok, err
}

func (s slowClaim) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	met, ok, err := s.Store.Change(ctx, f, c)
	if f.ID == s.id && c.Owner != "" {
		*s.taken++
		if s.takeovers {
			time.Sleep(3 * time.Second)
		}
	}
	return met, ok, err
}

// The function would start with less time than the Margin, and be cut off behind
// its effect. The claim is removed, and counts as no attempt.
func TestClaimAnsweredAfterTheLastStartIsGivenBack(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, o := range []handlers.SQSOptions{{Margin: 4 * time.Second}, {Margin: 4 * time.Second, Ahead: -1}} {
		for _, config := range []*idempotent.Config{nil, {MaxAttempts: 3}} {
			for at := range 2 { // the second is claimed ahead
				for _, slow := range []string{"claim", "takeover", "claim that meets a lapsed one"} {
					lapsed, taken := slow != "claim", 0
					synctest.Test(t, func(t *testing.T) {
						messages, ids := orders(2)
						id := idOf(t, order{ID: ids[at]})
						store := memory.New(0)
						if lapsed {
							until := time.Now().Round(0).Add(-time.Minute).Truncate(time.Second)
							if err := store.Put(driver.Record{ID: id, Status: driver.InProgress, Owner: "crashed", Attempt: 1, Lease: until, Expires: until.Add(24 * time.Hour)}); err != nil {
								t.Fatal(err)
							}
						}
						failures := &received{}
						o := o
						o.OnFailure = failures.Receive
						d := &distant{Store: slowClaim{store, id, slow == "takeover", &taken}}
						ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
						defer cancel()
						answer, err := deliver(ctx, d.queue(t, config, o), sqsEvent(t, messages...))
						if err != nil || !slices.Contains(reportedIDs(t, answer), messages[at].MessageId) || slices.Contains(d.started, ids[at]) {
							t.Errorf("%+v, %d: %s, %v: started %v", o, at, answer, err, d.started)
						}
						for _, f := range failures.Failed {
							if !errors.Is(f, handlers.ErrNotStarted) {
								t.Errorf("received %v", f)
							}
						}
						r, err := store.Get(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
						want := map[string]driver.Record{
							"takeover":                      {Status: driver.InProgress, Attempt: 2, Refunds: 1},
							"claim that meets a lapsed one": {Status: driver.InProgress, Attempt: 1, Owner: "crashed"},
						}[slow]
						if r.Status != want.Status || r.Attempt != want.Attempt || r.Refunds != want.Refunds || r.Owner != want.Owner {
							t.Errorf("%+v, %d, %s: it left %+v", o, at, slow, r)
						}
						if taken != int(want.Refunds) {
							t.Errorf("%+v, %d, %s: taken over %d times", o, at, slow, taken)
						}
					})
				}
			}
		}
	}
}

// A claim ahead is of no use after the last start. It is released then, and not
// when the function before it returns.
func TestClaimsAheadAreReleasedAtTheLastStart(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		messages, ids := orders(2)
		store := memory.New(0)
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(5 * time.Second)
			r, err := store.Get(ctx, idOf(t, order{ID: ids[1]}))
			if err != nil || r.Status != driver.Absent {
				t.Errorf("the record behind it is %+v, %v", r, err)
			}
			return nil
		}, &handlers.SQSOptions{Margin: 5 * time.Second, OnFailure: quiet})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		answer, err := deliver(ctx, handler, sqsEvent(t, messages...))
		if err != nil || !slices.Equal(reportedIDs(t, answer), []string{messages[1].MessageId}) {
			t.Errorf("%s, %v", answer, err)
		}
	})
}

// Calls of an option are no starts.
func TestLastStartIsNotForTheCallsOfAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, audited := memory.New(0), 0
		audit := newExecutor(t, store, nil)
		handler := handlers.Kinesis(newExecutor(t, store, nil), nil, func(context.Context, handlers.KinesisRecord[order]) error {
			time.Sleep(6 * time.Second)
			return idempotent.Permanent(errOutOfStock)
		}, &handlers.KinesisOptions{Margin: 5 * time.Second, OnFailure: quiet, Poison: func(ctx context.Context, r events.KinesisEventRecord, _ error) error {
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: "audit of " + r.EventID}, func(context.Context) (struct{}, error) {
				audited++
				return struct{}{}, nil
			})
			return err
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		answer, err := deliver(ctx, handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"})))
		if err != nil || len(reportedIDs(t, answer)) != 0 || audited != 1 {
			t.Errorf("%s, %v: audited %d times", answer, err, audited)
		}
	})
}
