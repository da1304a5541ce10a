package handlers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

// kinesisEvent returns a record for each order, with these partition keys.
func kinesisEvent(t testing.TB, partitions string, orders ...order) events.KinesisEvent {
	t.Helper()
	var event events.KinesisEvent
	for i, o := range orders {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventSourceArn: "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", EventID: fmt.Sprintf("shardId-0:%d", i),
			Kinesis: events.KinesisRecord{Data: data, PartitionKey: partitions[i : i+1], SequenceNumber: fmt.Sprintf("seq%d", i)},
		})
	}
	return event
}

// Partition keys run at the same time, and each in its order. The record that
// failed first in the stream is reported, not the one that failed first in
// time.
func TestKinesisPartitionKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := map[string]time.Duration{"a0": 4 * time.Second, "b1": time.Second, "b2": time.Second, "a3": time.Second, "c4": 0, "a5": 0, "b6": 0}
		var mu sync.Mutex
		var ran []string
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, r handlers.KinesisRecord[order]) error {
			time.Sleep(takes[r.Body.ID])
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, r.Body.ID)
			if r.Body.Fail {
				return errOutOfStock
			}
			return nil
		}, &handlers.KinesisOptions{Concurrency: 8, OnFailure: quiet})
		orders := []order{{ID: "a0"}, {ID: "b1"}, {ID: "b2", Fail: true}, {ID: "a3", Fail: true}, {ID: "c4"}, {ID: "a5"}, {ID: "b6"}}
		answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "abbacab", orders...)))
		if err != nil || answer != streamAnswer("seq2") {
			t.Errorf("%s, %v", answer, err)
		}
		// a3 comes after b2, which had failed when a0 ended; a0 comes before.
		if want := []string{"c4", "b1", "b2", "a0"}; !slices.Equal(ran, want) {
			t.Errorf("ran %v, want %v", ran, want)
		}
		ran = nil
		for i := range orders {
			orders[i].Fail = false
		}
		answer, err = deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "abbacab", orders...)))
		slices.Sort(ran)
		if want := []string{"a3", "a5", "b2", "b6"}; err != nil || answer != streamAnswer("") || !slices.Equal(ran, want) {
			t.Errorf("%s, %v, ran %v, want %v", answer, err, ran, want)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.KinesisRecord[order]) error {
			now := running.Add(1)
			if now > most.Load() {
				most.Store(now)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		}, &handlers.KinesisOptions{Concurrency: 3})
		begun := time.Now()
		orders := make([]order, 9)
		answer, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "abcdefghi", orders...)))
		if err != nil || answer != streamAnswer("") || most.Load() != 3 || time.Since(begun) != 3*time.Second {
			t.Errorf("%s, %v, %d at once, in %v", answer, err, most.Load(), time.Since(begun))
		}
	})
}

func TestStreamRecordWithoutSequenceNumber(t *testing.T) {
	s := &shop{}
	handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{OnFailure: quiet})
	event := kinesisEvent(t, "aaa", order{ID: "o0"}, order{ID: "o1", Fail: true}, order{ID: "o2"})
	event.Records[1].Kinesis.SequenceNumber = ""
	answer, err := deliver(t.Context(), handler, marshal(t, event))
	if err == nil || !strings.Contains(err.Error(), "kinesis record 1: ") {
		t.Errorf("%s, %v", answer, err)
	}
}

// Changes of one item stay in order, those of others run at the same time.
func TestDynamoDBStreamItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ran []string
		handler := handlers.DynamoDBStream(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, r events.DynamoDBEventRecord) error {
			if r.EventName == "INSERT" {
				time.Sleep(time.Second)
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, r.EventName)
			return nil
		}, &handlers.DynamoDBStreamOptions{Concurrency: 8})
		answer, err := deliver(t.Context(), handler, golden(t, "dynamodb-stream.json"))
		if want := []string{"MODIFY", "INSERT", "REMOVE"}; err != nil || answer != streamAnswer("") || !slices.Equal(ran, want) {
			t.Errorf("%s, %v, ran %v", answer, err, ran)
		}
	})
}

func kafkaRecord(partition, offset int64, value string) events.KafkaRecord {
	return events.KafkaRecord{Topic: "orders", Partition: partition, Offset: offset, Value: base64.StdEncoding.EncodeToString([]byte(value))}
}

func kafkaEvent(records map[string][]events.KafkaRecord) events.KafkaEvent {
	return events.KafkaEvent{EventSourceARN: "arn:aws:kafka:eu-central-1:123456789012:cluster/orders/1", Records: records}
}

func TestKafkaTombstones(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	event := marshal(t, kafkaEvent(map[string][]events.KafkaRecord{"orders-0": {kafkaRecord(0, 1, ""), kafkaRecord(0, 2, `{"id":"o2"}`)}}))
	var got []string
	handler := handlers.Kafka(x, nil, func(_ context.Context, r handlers.KafkaRecord[*order]) error {
		if r.Body == nil {
			got = append(got, "deleted")
			return nil
		}
		got = append(got, r.Body.ID)
		return nil
	}, nil)
	if answer, err := deliver(t.Context(), handler, event); err != nil || answer != streamAnswer("") || !slices.Equal(got, []string{"deleted", "o2"}) {
		t.Errorf("%s, %v, got %v", answer, err, got)
	}
	values := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{OnFailure: quiet})
	if answer, err := deliver(t.Context(), values, event); err != nil || answer != `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":1}}]}` {
		t.Errorf("a body that cannot be nil: %s, %v", answer, err)
	}
}

// A place that Lambda does not know fails the whole batch, and says so.
func TestKafkaRecordOfAnotherPartitionFails(t *testing.T) {
	for name, records := range map[string]map[string][]events.KafkaRecord{
		"null":            {"orders-0": {{}}},
		"wrong partition": {"orders-0": {kafkaRecord(1, 5, `{"id":"o","fail":true}`)}},
	} {
		handler := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{OnFailure: quiet})
		answer, err := deliver(t.Context(), handler, marshal(t, kafkaEvent(records)))
		if err == nil || !strings.Contains(err.Error(), "kafka record 0: ") {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
}

// Two clusters have the same topics and offsets; one cluster lists its
// servers in any order.
func TestKafkaClusters(t *testing.T) {
	s := &shop{}
	handler := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](s), nil)
	records := map[string][]events.KafkaRecord{"orders-0": {kafkaRecord(0, 1, `{"id":"o"}`)}}
	for _, servers := range []string{"a:9092,b:9092", "b:9092,a:9092", "c:9092"} {
		event := marshal(t, events.KafkaEvent{BootstrapServers: servers, Records: records})
		if answer, err := deliver(t.Context(), handler, event); err != nil || answer != streamAnswer("") {
			t.Errorf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o": 2})
}
