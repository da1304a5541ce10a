package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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

// What hostile readings found, one test each.

// A nil pointer in an error panics when the error is looked at.
func TestTypedNilFailsItsRecordAlone(t *testing.T) {
	for name, err := range map[string]error{
		"itself":  (*url.Error)(nil),
		"wrapped": fmt.Errorf("call: %w", (*url.Error)(nil)),
	} {
		for _, onFailure := range []func(context.Context, *handlers.RecordError){quiet, nil} {
			for _, concurrency := range []int{1, 4} {
				s := &shop{}
				handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[order]) error {
					if m.Body.Fail {
						return err
					}
					return s.place(m.Body)
				}, &handlers.SQSOptions{Concurrency: concurrency, OnFailure: onFailure})
				answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0", Fail: true}), message("m1", order{ID: "o1"})))
				if err != nil || !slices.Equal(reportedIDs(t, answer), []string{"m0"}) {
					t.Errorf("%s: %s, %v", name, answer, err)
				}
				s.check(t, map[string]int{"o1": 1})
			}
		}
	}
}

// Tags can be set again and again on one version of an object, and their
// events have no sequencer.
func TestS3EventsWithoutSequencer(t *testing.T) {
	n := 0
	handler := handlers.S3(newExecutor(t, memory.New(0), nil), nil, func(context.Context, events.S3EventRecord) error { n++; return nil }, &handlers.EventOptions{OnFailure: quiet})
	tagged := func(request string) []byte {
		return []byte(`{"Records":[{"eventSource":"aws:s3","eventTime":"2026-08-01T00:00:00.000Z","eventName":"ObjectTagging:Put","responseElements":{` + request + `},"s3":{"bucket":{"name":"b"},"object":{"key":"k","eTag":"e","versionId":"v1"}}}]}`)
	}
	for _, request := range []string{"R1", "R2", "R1", "R2"} {
		if _, err := deliver(t.Context(), handler, tagged(`"x-amz-request-id":"`+request+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("two events, %d runs", n)
	}
	if _, err := deliver(t.Context(), handler, tagged("")); !errors.Is(err, idempotent.ErrMissingKey) {
		t.Errorf("one that cannot be told from another: %v", err)
	}
}

// The innermost event is the one that happened once.
func TestInnermostIDIsTheKey(t *testing.T) {
	s3, n := string(golden(t, "s3.json")), 0
	notification := func(i int) string {
		return string(marshal(t, map[string]any{"Type": "Notification", "MessageId": fmt.Sprint("n", i), "Message": s3, "Timestamp": "2026-08-01T00:00:00.000Z"}))
	}
	queue := func(i int) []byte {
		m := message(fmt.Sprint("m", i), order{})
		m.Body = notification(i)
		return sqsEvent(t, m)
	}
	topic := func(i int) []byte {
		return marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: fmt.Sprint("n", i), Message: s3}}}})
	}
	fanned := func(i int) []byte {
		return []byte(strings.ReplaceAll(string(golden(t, "sqs-from-sns.json")), "000000a0-0000", fmt.Sprint("000000a0-000", i)))
	}
	x := newExecutor(t, memory.New(0), nil)
	for name, test := range map[string]struct {
		handler any
		event   func(i int) []byte
	}{
		"S3 in SNS in SQS": {handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[handlers.FromSNS[handlers.FromS3]]) error { n++; return nil }, nil), queue},
		"S3 in SNS":        {handlers.SNS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SNSMessage[handlers.FromS3]) error { n++; return nil }, nil), topic},
		"by a pointer":     {handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[*handlers.FromSNS[order]]) error { n++; return nil }, nil), fanned},
	} {
		n = 0
		for i := range 2 {
			if answer, err := deliver(t.Context(), test.handler, test.event(i)); err != nil || strings.Contains(answer, "itemIdentifier") {
				t.Errorf("%s: %s, %v", name, answer, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d runs", name, n)
		}
	}
}

// What is done is acknowledged, whatever its record holds.
func TestDoneIsDone(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	if _, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "o0"}, func(context.Context) (string, error) { return "receipt", nil }); err != nil {
		t.Fatal(err)
	}
	handler := handlers.Kinesis(x, func(r handlers.KinesisRecord[order]) (idempotent.Key, error) {
		return idempotent.Key{ID: r.Body.ID}, nil
	},
		func(context.Context, handlers.KinesisRecord[order]) error { t.Error("ran"); return nil },
		&handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, _ events.KinesisEventRecord, err error) error {
			t.Errorf("taken over: %v", err)
			return nil
		}})
	if answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"}))); err != nil || answer != streamAnswer("") {
		t.Errorf("%s, %v", answer, err)
	}
}

// unreleasable is a store that does not release.
type unreleasable struct{ driver.Store }

func (s unreleasable) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.Release != 0 {
		return driver.Record{}, false, errors.New("no permission")
	}
	return s.Store.Change(ctx, f, c)
}

// The errors of a handler's own calls, of its key function and of the store
// may pass. What was marked permanent does not, whatever else it is.
func TestWhatIsHopeless(t *testing.T) {
	bank := newExecutor(t, memory.New(0), &idempotent.Config{MaxAttempts: 1})
	_, _ = idempotent.Do(t.Context(), bank, idempotent.Key{ID: "charge"}, func(context.Context) (int, error) { return 0, errOutOfStock })
	charge := func(ctx context.Context) error {
		_, err := idempotent.Do(ctx, bank, idempotent.Key{ID: "charge"}, func(context.Context) (int, error) { return 0, nil })
		return err
	}
	type key = func(handlers.KinesisRecord[order]) (idempotent.Key, error)
	for name, test := range map[string]struct {
		store  driver.Store
		config *idempotent.Config
		key    key
		run    func(context.Context) error
		want   bool
	}{
		"another call's unknown outcome": {run: charge},
		"the same, and no release":       {store: unreleasable{memory.New(0)}, run: charge},
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
				if err != nil || taken != test.want || (answer == streamAnswer("")) != test.want {
					t.Errorf("taken over: %v, %s, %v", taken, answer, err)
				}
			})
		})
	}
}

func (panicky) MarshalJSON() ([]byte, error) { panic("payload") }

// The executor's Wait is not the batch's.
func TestWaitOfTheBatchCounts(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		store, s := memory.New(0), &shop{}
		defer elsewhere(t, store, order{ID: "o0"})()
		handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Wait: time.Hour}), orderID, place[events.SQSMessage](s), &handlers.SQSOptions{Margin: 10 * time.Second, Wait: 2 * time.Second, OnFailure: quiet})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		answer, err := deliver(ctx, handler, sqsEvent(t, message("m0", order{ID: "o0"})))
		if took := time.Since(begun); err != nil || len(reportedIDs(t, answer)) != 1 || took != 2*time.Second {
			t.Errorf("%s, %v after %v", answer, err, took)
		}
	})
}

// The default margin is at most half of the invocation's time, for waits as well as
// for starts, and what went by while keys were made counts.
func TestMarginIsOfTheInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		end := elsewhere(t, store, order{ID: "o0"})
		time.AfterFunc(100*time.Millisecond, end)
		byID := func(e handlers.SNSMessage[order]) (idempotent.Key, error) { return idempotent.Key{ID: e.Body.ID}, nil }
		handler := handlers.SNS(newExecutor(t, store, nil), byID, place[events.SNSEventRecord](&shop{}), &handlers.EventOptions{OnFailure: quiet})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := deliver(short, handler, snsEvent(t, order{ID: "o0"})); err != nil {
			t.Errorf("a twin of 100 ms in an invocation of a second: %v", err)
		}

		slow := handlers.SQS(newExecutor(t, store, nil), func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			time.Sleep(25 * time.Second)
			return idempotent.Key{ID: m.Body.ID}, nil
		}, func(context.Context, handlers.SQSMessage[order]) error { t.Error("started with 5 s left"); return nil },
			&handlers.SQSOptions{Margin: 10 * time.Second, OnFailure: quiet})
		long, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if answer, err := deliver(long, slow, sqsEvent(t, message("m0", order{ID: "o1"}))); err != nil || len(reportedIDs(t, answer)) != 1 {
			t.Errorf("%s, %v", answer, err)
		}
	})
}

// Only a message that is a test event is nothing to run for.
func TestTestEventWithinABody(t *testing.T) {
	n := 0
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[struct {
		Order        string
		Notification *handlers.FromS3
	}]) error {
		n++
		return nil
	}, nil)
	m := message("m0", order{})
	m.Body = `{"Order":"pay me","Notification":{"Event":"s3:TestEvent"}}`
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, m)); err != nil || n != 1 {
		t.Errorf("%s, %v, %d runs", answer, err, n)
	}
}

// The groups of a FIFO queue run at the same time, one key in two of them does
// not.
func TestOneKeyInTwoGroups(t *testing.T) {
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

// A Kinesis event has fields that a DynamoDB stream's has.
func TestEventsOfAnotherSource(t *testing.T) {
	handler := handlers.DynamoDBStream(newExecutor(t, memory.New(0), nil), nil, func(context.Context, events.DynamoDBEventRecord) error { t.Error("ran"); return nil }, nil)
	if answer, err := deliver(t.Context(), handler, golden(t, "kinesis.json")); !errors.Is(err, handlers.ErrNoRecords) {
		t.Errorf("%s, %v", answer, err)
	}
}

// The error of a message that was postponed is the conflict, and nothing that
// is joined to it.
func TestPostponedIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, failures := memory.New(0), &kept{}
		defer elsewhere(t, store, order{ID: "o0"})()
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{
			OnFailure:  failures.keep,
			Visibility: func(context.Context, events.SQSMessage, time.Duration) error { return nil },
		})
		if _, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}))); err != nil {
			t.Fatal(err)
		}
		if _, ok := failures.failed[0].Err.(*idempotent.InProgressError); !ok {
			t.Errorf("told of a %T", failures.failed[0].Err)
		}
	})
}

// The hook gets the record as it came, whatever the handler did to its body.
func TestPoisonIsAsItCame(t *testing.T) {
	handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, r handlers.KinesisRecord[[]byte]) error {
		clear(r.Body)
		return idempotent.Permanent(errOutOfStock)
	}, &handlers.KinesisOptions{OnFailure: quiet, Poison: func(_ context.Context, r events.KinesisEventRecord, _ error) error {
		if string(r.Kinesis.Data) != `{"id":"o0"}` {
			t.Errorf("got %q", r.Kinesis.Data)
		}
		return nil
	}})
	if _, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{ID: "o0"}))); err != nil {
		t.Error(err)
	}
}

// A saga that failed and is not undone comes back to be undone: to put it aside
// would leave its charge.
func TestPoisonIsNotWhatHasToBeUndone(t *testing.T) {
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
		if errors.Is(err, idempotent.ErrCompensation) {
			t.Errorf("put aside: %v", err)
		}
		return nil
	}})
	for delivery, want := range []int{1, 0} {
		answer, err := handler(t.Context(), kinesisEvent(t, "a", order{ID: "o0"}))
		if err != nil || len(answer.BatchItemFailures) != want {
			t.Errorf("delivery %d: %+v, %v", delivery+1, answer, err)
		}
	}
	if refunds != 2 {
		t.Errorf("refunded %d times", refunds)
	}
}
