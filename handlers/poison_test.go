package handlers_test

import (
	"context"
	"errors"
	"fmt"
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

// noPoison is an option Poison of records that are none.
func noPoison[E any](t *testing.T) func(context.Context, E, error) error {
	return func(_ context.Context, r E, err error) error {
		t.Errorf("%+v is poison: %v", r, err)
		return nil
	}
}

// A record that is done is acknowledged, whatever its body is.
func TestDoneRecordIsAcknowledged(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "o0"}, func(context.Context) (string, error) { return "receipt", nil })
	check.Must(t, err)
	handler := handlers.Kinesis(x, byID[events.KinesisEventRecord],
		func(context.Context, handlers.KinesisRecord[order]) error { t.Error("ran"); return nil },
		&handlers.KinesisOptions{OnFailure: quiet, Poison: noPoison[events.KinesisEventRecord](t)})
	continuesFrom(t, t.Context(), handler, kinesisEvent(t, "a", order{ID: "o0"}), "")
}

// Errors of a handler's own calls, of its key function and of the store may not
// occur again. A permanent error does, whatever it wraps.
func TestPoisonReceivesOnlyWhatNeverSucceeds(t *testing.T) {
	bank := newExecutor(t, memory.New(0), &idempotent.Config{MaxAttempts: 1})
	_, _ = idempotent.Do(t.Context(), bank, idempotent.Key{ID: "charge"}, func(context.Context) (int, error) { return 0, errOutOfStock })
	charge := func(ctx context.Context) error {
		_, err := idempotent.Do(ctx, bank, idempotent.Key{ID: "charge"}, func(context.Context) (int, error) { return 0, nil })
		return err
	}
	unreleasable := intercepted{memory.New(0), func(_ context.Context, c storeCall, call func() error) error {
		if c.change.Release != 0 {
			return errors.New("no permission")
		}
		return call()
	}}
	type key = func(handlers.KinesisRecord[order]) (idempotent.Key, error)
	for name, test := range map[string]struct {
		store  driver.Store
		config *idempotent.Config
		key    key
		run    func(context.Context) error
		want   bool
	}{
		"another call's unknown outcome": {run: charge},
		"the same, and no release":       {store: unreleasable, run: charge},
		"a key function that panics":     {key: func(handlers.KinesisRecord[order]) (idempotent.Key, error) { panic("not loaded") }},
		"a key function out of time": {key: func(handlers.KinesisRecord[order]) (idempotent.Key, error) {
			return idempotent.Key{}, context.DeadlineExceeded
		}},
		"no key":    {key: func(handlers.KinesisRecord[order]) (idempotent.Key, error) { return idempotent.Key{}, nil }, want: true},
		"permanent": {run: func(context.Context) error { return idempotent.Permanent(errOutOfStock) }, want: true},
		"permanent, of another's store": {run: func(context.Context) error {
			return idempotent.Permanent(&idempotent.StoreError{Op: "claim", Err: errOutOfStock})
		}, want: true},
		"permanent, though released": {config: &idempotent.Config{ReleasePermanent: true}, run: func(context.Context) error { return idempotent.Permanent(errOutOfStock) }, want: true},
		"a payload that panics": {key: func(handlers.KinesisRecord[order]) (idempotent.Key, error) {
			return idempotent.Key{ID: "k", Payload: panicky{}}, nil
		}},
		"a payload that is no JSON": {key: func(handlers.KinesisRecord[order]) (idempotent.Key, error) {
			return idempotent.Key{ID: "k", Payload: []any{func() {}}}, nil
		}, want: true},
		"any other error": {run: func(context.Context) error { return errOutOfStock }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				taken := false
				store := test.store
				if store == nil {
					store = memory.New(0)
				}
				handler := handlers.Kinesis(newExecutor(t, store, test.config), test.key, func(ctx context.Context, _ handlers.KinesisRecord[order]) error { return test.run(ctx) },
					&handlers.KinesisOptions{OnFailure: quiet, Poison: func(context.Context, events.KinesisEventRecord, error) error { taken = true; return nil }})
				answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"})))
				check.Nil(t, err)
				check.Equal(t, taken, test.want)
				check.Equal(t, answer == streamAnswer(""), test.want)
			})
		})
	}
}

func (panicky) MarshalJSON() ([]byte, error) { panic("payload") }

// Poison receives the record as it came, whatever the handler did to its body.
func TestPoisonReceivesTheRecordUnchanged(t *testing.T) {
	handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, r handlers.KinesisRecord[[]byte]) error {
		clear(r.Body)
		return idempotent.Permanent(errOutOfStock)
	}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, r events.KinesisEventRecord, _ error) error {
		check.Equal(t, string(r.Kinesis.Data), `{"id":"o0"}`)
		return nil
	}})
	continuesFrom(t, t.Context(), handler, kinesisEvent(t, "a", order{ID: "o0"}), "")
}

// A saga that failed is delivered again until it is undone: Poison would leave its
// charge.
func TestPoisonDoesNotReceiveAnUnfinishedSaga(t *testing.T) {
	refunds := 0
	handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, _ handlers.KinesisRecord[order]) error {
		_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) { return "", nil },
			func(context.Context, string) error {
				if refunds++; refunds == 1 {
					return errors.New("busy")
				}
				return nil
			})
		return errors.Join(err, idempotent.Permanent(errors.New("sold out")))
	}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, _ events.KinesisEventRecord, err error) error {
		check.False(t, errors.Is(err, idempotent.ErrCompensation), "put aside")
		return nil
	}})
	for _, from := range []string{"seq0", ""} {
		continuesFrom(t, t.Context(), handler, kinesisEvent(t, "a", order{ID: "o0"}), from)
	}
	check.Equal(t, refunds, 2)
}

// Poison receives what can never succeed, and nothing else.
func TestPoisonReceivesAndAcknowledgesRecords(t *testing.T) {
	var taken []string
	var refuse error
	s := &shop{}
	handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{
		OnFailure: quiet,
		Poison: func(_ context.Context, r events.KinesisEventRecord, err error) error {
			taken = append(taken, fmt.Sprintf("%s %T", r.Kinesis.SequenceNumber, err))
			return refuse
		},
	})
	event := kinesisEvent(t, "aaaa", order{ID: "o0", Never: true}, order{}, order{ID: "o2"}, order{ID: "o3", Fail: true})
	event.Records[1].Kinesis.Data = []byte("no JSON")

	refuse = errors.New("the other queue is not there")
	continuesFrom(t, t.Context(), handler, event, "seq0", "a hook that fails")
	refuse, taken = nil, nil
	for range 2 {
		continuesFrom(t, t.Context(), handler, event, "seq3")
	}
	want := []string{"seq0 *idempotent.ReplayedError", "seq1 *handlers.DecodeError"}
	check.Slice(t, taken, append(want, want...), "taken over")
	s.check(t, map[string]int{"o0": 1, "o2": 1, "o3": 2})
}

// several is an error that does not compare.
type several []string

func (e several) Error() string { return fmt.Sprint([]string(e)) }

// Only Late may hand its error back. Poison that does so has failed, as one that panics has.
func TestPoisonThatReturnsTheErrorOfTheRecordFails(t *testing.T) {
	for _, poison := range []func(error) error{func(err error) error { return err }, func(error) error { panic("hook") }} {
		failed := &received{}
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), func(handlers.KinesisRecord[order]) (idempotent.Key, error) {
			return idempotent.Key{ID: "o0"}, nil
		}, func(context.Context, handlers.KinesisRecord[order]) error {
			return idempotent.Permanent(several{"a", "b"})
		},
			&handlers.KinesisOptions{OnFailure: failed.Receive, Poison: func(_ context.Context, _ events.KinesisEventRecord, err error) error { return poison(err) }})
		continuesFrom(t, t.Context(), handler, kinesisEvent(t, "a", order{ID: "o0"}), "seq0")
		check.Equal(t, check.As[*handlers.OptionError](t, failed.Failed[0]).Option, "Poison")
	}
}

// A failure of the store, or a running duplicate, does not make a record poison.
func TestPoisonDoesNotReceiveTransientFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, full := memory.New(0), memory.New(1)
		defer elsewhere(t, store, order{ID: "o0"})()
		defer elsewhere(t, full, order{ID: "another"})()
		for _, store := range []driver.Store{store, full} {
			handler := handlers.Kinesis(newExecutor(t, store, nil), byID, place[events.KinesisEventRecord](&shop{}),
				&handlers.KinesisOptions{OnFailure: quiet, Poison: noPoison[events.KinesisEventRecord](t)})
			continuesFrom(t, t.Context(), handler, kinesisEvent(t, "a", order{ID: "o0"}), "seq0")
		}
	})
}

// The record is FAILED: every further delivery would meet that.
func TestPoisonTakesARecordWhoseSuccessorFailed(t *testing.T) {
	for successor, want := range map[error]bool{idempotent.Permanent(errOutOfStock): true, errOutOfStock: false} {
		synctest.Test(t, func(t *testing.T) {
			store, config := memory.New(0), &idempotent.Config{Lease: 10 * time.Second}
			unextended := intercepted{store, func(_ context.Context, c storeCall, call func() error) error { // by heartbeats
				if !c.change.Lease.IsZero() && c.change.Owner == "" {
					return driver.ErrUnavailable
				}
				return call()
			}}
			key := idempotent.Key{ID: "o0", Payload: order{ID: "o0"}}
			var taken error
			handler := handlers.Kinesis(newExecutor(t, unextended, config), func(handlers.KinesisRecord[order]) (idempotent.Key, error) { return key, nil }, func(context.Context, handlers.KinesisRecord[order]) error {
				time.Sleep(time.Minute) // its lease lapses, and a successor takes over
				_, err := idempotent.Do(context.Background(), newExecutor(t, store, config), key, func(context.Context) (struct{}, error) { return struct{}{}, successor })
				check.Failed(t, err, "the successor did not fail")
				return errors.New("late")
			}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, _ events.KinesisEventRecord, err error) error { taken = err; return nil }})
			answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"})))
			check.Nil(t, err, successor)
			check.Equal(t, answer == streamAnswer(""), want, successor)
			check.Equal(t, errors.Is(taken, idempotent.ErrReplayed), want, successor)
			check.Equal(t, taken != nil, want, successor)
		})
	}
}
