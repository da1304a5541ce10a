package handlers_test

import (
	"context"
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
	"github.com/lambda-once/once/internal/check"
)

func idOf(t *testing.T, id string) string {
	t.Helper()
	key, err := orderID(handlers.SQSMessage[order]{Body: order{ID: id}})
	check.Must(t, err)
	id, err = key.RecordID("create-payment")
	check.Must(t, err)
	return id
}

// A claim that is never answered is reported as failed. Every other record runs
// and is acknowledged, and the report arrives before the end of the invocation.
func TestHungClaimCostsItsOwnRecord(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	const size = 10
	for _, o := range []handlers.SQSOptions{{}, {Concurrency: 3}, {Unrecorded: 10}} {
		for _, config := range []*idempotent.Config{nil, {Ahead: -1}, {Ahead: 2}, {MaxAttempts: 1}, {ReadFirst: true}} {
			for _, timeout := range []time.Duration{3 * time.Second, 6 * time.Second, 30 * time.Second, 15 * time.Minute} {
				for _, at := range []int{0, 4, size - 1} {
					synctest.Test(t, func(t *testing.T) {
						messages, ids := orders(size)
						d := &distant{Store: hungFor(idOf(t, ids[at]))}
						begun := time.Now()
						reports(t, within(t, timeout), d.queue(t, config, o), messages, messages[at].MessageId, o, timeout)
						took := time.Since(begun)
						check.True(t, took <= min(timeout-500*time.Millisecond, 12*time.Second), o, timeout, at, took)
						slices.Sort(d.started)
						check.Slice(t, d.started, slices.Delete(ids, at, at+1), o, timeout, at)
					})
				}
			}
		}
	}
}

// The report of a batch does not wait for a claim that is of no use any more,
// until Lambda ends the process.
func TestHungClaimAheadDoesNotDelayTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		messages, ids := orders(3)
		messages[0] = message("m00", order{ID: "o00", Fail: true})
		d := &distant{Store: hungFor(idOf(t, ids[2]))}
		begun := time.Now()
		reports(t, within(t, time.Minute), d.queue(t, nil, handlers.SQSOptions{}), inGroups(messages, "g"), "m00 m01 m02")
		took := time.Since(begun)
		check.True(t, took <= time.Second, took)
	})
}

// The report arrives although one completion is tried to the end.
func TestHungCompletionDoesNotLoseTheReport(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		config     idempotent.Config
		unrecorded int
		done       int
	}{{done: 4}, {config: idempotent.Config{Ahead: -1}, done: 4}, {unrecorded: 10, done: 9}, {config: idempotent.Config{Margin: time.Millisecond}, done: 4}} {
		for _, timeout := range []time.Duration{3 * time.Second, 30 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				messages, ids := orders(10)
				id := idOf(t, ids[4])
				d := &distant{Store: hung(memory.New(0), func(c storeCall) bool { return c.id == id && c.change.Status != "" })}
				begun := time.Now()
				answer, err := deliver(within(t, timeout), d.queue(t, &c.config, handlers.SQSOptions{Unrecorded: c.unrecorded}), sqsEvent(t, messages...))
				check.Must(t, err, c.done)
				took := time.Since(begun)
				check.True(t, took <= timeout-50*time.Millisecond, c.done, took)
				reported := reportedIDs(t, answer)
				check.Equal(t, len(reported), 10-c.done)
				check.Equal(t, reported[0], messages[4].MessageId, c.done)
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
			d := &distant{Store: hungFor(idOf(t, ids[4]))}
			config := &idempotent.Config{Ahead: ahead, OnStoreError: idempotent.FailOpen}
			reports(t, within(t, 30*time.Second), d.queue(t, config, handlers.SQSOptions{}), messages, "", ahead)
			check.Slice(t, d.started, ids, ahead)
		})
	}
}

// Behind a claim that is never answered nothing of its lane runs.
func TestHungClaimStopsItsLane(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		ahead    int
		o        handlers.SQSOptions
		reported string
	}{
		{0, handlers.SQSOptions{StopGroups: true}, "m03 m04 m05"},
		{-1, handlers.SQSOptions{StopGroups: true}, "m03 m04 m05"},
		{0, handlers.SQSOptions{}, "m03 m05"}, // of the group with odd numbers
		{-1, handlers.SQSOptions{}, "m03 m05"},
		{0, handlers.SQSOptions{Concurrency: 2}, "m03 m05"},
	} {
		synctest.Test(t, func(t *testing.T) {
			messages, ids := orders(6)
			d := &distant{Store: hungFor(idOf(t, ids[3]))}
			reports(t, within(t, 30*time.Second), d.queue(t, &idempotent.Config{Ahead: c.ahead}, c.o), inGroups(messages, "even", "odd"), c.reported, c.o)
			for i, m := range messages {
				check.Differ(t, slices.Contains(d.started, ids[i]), strings.Contains(c.reported, m.MessageId), c.o)
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
		d := &distant{Store: hung(memory.New(0), func(c storeCall) bool { return c.op == "claim" && time.Since(begun) < time.Second })}
		reports(t, within(t, 30*time.Second), d.queue(t, nil, handlers.SQSOptions{}), messages, "m00") // claimed in its turn
		check.Slice(t, d.started, ids[1:])
		took := time.Since(begun)
		check.True(t, took <= 7*time.Second, took)
	})
}

// slowly returns a store whose claims, or takeovers, of one record return after 3 s,
// whatever their context. It counts the takeovers.
func slowly(store driver.Store, id string, takeovers bool, taken *int) driver.Store {
	return intercepted{store, func(_ context.Context, c storeCall, call func() error) error {
		err := call()
		takeover := c.op == "change" && c.change.Owner != ""
		if c.id == id && takeover {
			*taken++
		}
		if c.id == id && (takeover && takeovers || c.op == "claim" && !takeovers) {
			time.Sleep(3 * time.Second)
		}
		return err
	}}
}

// The function would start with less time than the Margin, and be cut off behind
// its effect. The claim is removed, and counts as no attempt.
func TestClaimAnsweredAfterTheLastStartIsGivenBack(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, ahead := range []int{0, -1} {
		for _, config := range []idempotent.Config{{}, {MaxAttempts: 3}} {
			config.Ahead, config.Margin = ahead, 4*time.Second
			for at := range 2 { // the second is claimed ahead
				for slow, left := range map[string]driver.Record{
					"claim":                         {},
					"takeover":                      {Status: driver.InProgress, Attempt: 2, Refunds: 1},
					"claim that meets a lapsed one": {Status: driver.InProgress, Attempt: 1, Owner: "crashed"},
				} {
					synctest.Test(t, func(t *testing.T) {
						messages, ids := orders(2)
						id, store, taken := idOf(t, ids[at]), memory.New(0), 0
						if slow != "claim" {
							until := time.Now().Round(0).Add(-time.Minute).Truncate(time.Second)
							check.Must(t, store.Put(driver.Record{ID: id, Status: driver.InProgress, Owner: "crashed", Attempt: 1, Lease: until, Expires: until.Add(24 * time.Hour)}))
						}
						failures := &received{}
						d := &distant{Store: slowly(store, id, slow == "takeover", &taken)}
						o := handlers.SQSOptions{OnFailure: failures.Receive}
						answer, err := deliver(within(t, 6*time.Second), d.queue(t, &config, o), sqsEvent(t, messages...))
						check.Must(t, err)
						check.True(t, slices.Contains(reportedIDs(t, answer), messages[at].MessageId), ahead, at, slow, answer)
						check.False(t, slices.Contains(d.started, ids[at]), ahead, at, slow)
						allAre(t, failures, handlers.ErrNotStarted)
						r, err := store.Get(t.Context(), id)
						check.Must(t, err)
						check.Deep(t, driver.Record{Status: r.Status, Attempt: r.Attempt, Refunds: r.Refunds, Owner: r.Owner}, left, ahead, at, slow)
						check.Equal(t, taken, int(left.Refunds), ahead, at, slow)
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
		handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Margin: 5 * time.Second}), orderID, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			time.Sleep(5 * time.Second)
			r, err := store.Get(ctx, idOf(t, ids[1]))
			check.Equal(t, r.Status, driver.Absent, "the record behind it")
			return err
		}, &handlers.SQSOptions{OnFailure: quiet})
		reports(t, within(t, 10*time.Second), handler, messages, "m01")
	})
}

// Calls of an option are no starts.
func TestLastStartIsNotForTheCallsOfAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, audited := memory.New(0), 0
		audit := newExecutor(t, store, nil)
		handler := handlers.Kinesis(newExecutor(t, store, &idempotent.Config{Margin: 5 * time.Second}), nil, func(context.Context, handlers.KinesisRecord[order]) error {
			time.Sleep(6 * time.Second)
			return idempotent.Permanent(errOutOfStock)
		}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(ctx context.Context, r events.KinesisEventRecord, _ error) error {
			_, err := idempotent.Do(ctx, audit, idempotent.Key{ID: "audit of " + r.EventID}, func(context.Context) (struct{}, error) {
				audited++
				return struct{}{}, nil
			})
			return err
		}})
		continuesFrom(t, within(t, 10*time.Second), handler, kinesisEvent(t, "a", order{ID: "o0"}), "")
		check.Equal(t, audited, 1)
	})
}
