package handlers_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// slow is a payload that takes time to encode, so that the claim of its record
// begins later than those of its batch.
type slow struct{ By time.Duration }

func (s slow) MarshalJSON() ([]byte, error) {
	time.Sleep(s.By)
	return []byte(`"a payload"`), nil
}

// Two batches have the same records in crossing orders, and each has claimed
// ahead what the other waits for.
func TestCrossingBatchesDoNotWaitForEachOther(t *testing.T) {
	for name, config := range map[string]*idempotent.Config{"in two processes": nil, "in one": {Wait: time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := memory.New(0), &shop{}
				executors := []*idempotent.Executor{newExecutor(t, store, config), newExecutor(t, store, config)}
				if config != nil {
					executors[1] = executors[0]
				}
				begun := time.Now()
				var both sync.WaitGroup
				for i, x := range executors {
					ids := []string{"a", "b"}
					if i == 1 {
						slices.Reverse(ids)
					}
					key := func(m handlers.SNSMessage[order]) (idempotent.Key, error) {
						k := idempotent.Key{ID: m.Body.ID, Payload: slow{}}
						if m.Body.ID == ids[0] {
							k.Payload = slow{time.Millisecond}
						}
						return k, nil
					}
					handler := handlers.SNS(x, key, func(_ context.Context, m handlers.SNSMessage[order]) error {
						time.Sleep(time.Second)
						return s.place(m.Body)
					}, &handlers.EventOptions{OnFailure: quiet})
					event := events.SNSEvent{Records: []events.SNSEventRecord{snsRecord(ids[0]), snsRecord(ids[1])}}
					both.Go(func() {
						check.Nil(t, handler(within(t, time.Minute), event), i)
					})
				}
				both.Wait()
				took := time.Since(begun)
				check.True(t, took <= 4*time.Second, took)
				s.check(t, map[string]int{"a": 1, "b": 1})
			})
		})
	}
}

func snsRecord(id string) events.SNSEventRecord {
	return events.SNSEventRecord{EventSource: "aws:sns", SNS: events.SNSEntity{MessageID: "m" + id, Message: `{"id":"` + id + `"}`}}
}

// Two keys of one batch name the same record in different ways, so they do not
// look alike. The later one is claimed first.
func TestRecordDoesNotWaitForAClaimOfItsOwnBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		byID := idempotent.Key{ID: "a", Payload: slow{time.Millisecond}}
		record, err := byID.RecordID("create-payment")
		check.Must(t, err)
		handler := handlers.SNS(newExecutor(t, memory.New(0), nil), func(m handlers.SNSMessage[order]) (idempotent.Key, error) {
			if m.Body.ID == "a" {
				return byID, nil
			}
			return idempotent.Key{Record: record, Payload: slow{}}, nil
		}, func(_ context.Context, m handlers.SNSMessage[order]) error {
			return s.place(m.Body)
		}, &handlers.EventOptions{OnFailure: quiet})
		begun := time.Now()
		check.Nil(t, handler(within(t, time.Minute), events.SNSEvent{Records: []events.SNSEventRecord{snsRecord("a"), snsRecord("again")}}))
		took := time.Since(begun)
		check.True(t, took <= time.Second, took)
		check.Equal(t, len(s.placed()), 1)
	})
}

// A function calls the executor with the key of a later record, which its own
// batch has claimed.
func TestFunctionMayWaitForALaterRecordOfItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Minute})
		handler := handlers.SNS(x, byID, func(ctx context.Context, m handlers.SNSMessage[order]) error {
			if m.Body.ID == "a" || m.Body.ID == "b" {
				time.Sleep(time.Second) // the claims of the others are made
				for _, id := range []string{"c", "d"} {
					if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: id}, func(context.Context) (struct{}, error) {
						return struct{}{}, s.place(order{ID: id})
					}); err != nil {
						return err
					}
				}
			}
			return s.place(m.Body)
		}, &handlers.EventOptions{OnFailure: quiet})
		begun := time.Now()
		event := events.SNSEvent{}
		for _, id := range []string{"a", "b", "c", "d"} {
			event.Records = append(event.Records, snsRecord(id))
		}
		check.Nil(t, handler(t.Context(), event))
		took := time.Since(begun)
		check.True(t, took <= 3*time.Second, took)
		s.check(t, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1})
	})
}
