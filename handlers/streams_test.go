package handlers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// kinesisEvent returns a record for each order, with these partition keys.
func kinesisEvent(t testing.TB, partitions string, orders ...order) events.KinesisEvent {
	t.Helper()
	var event events.KinesisEvent
	for i, o := range orders {
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventSourceArn: "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", EventID: fmt.Sprintf("shardId-0:%d", i),
			Kinesis: events.KinesisRecord{Data: marshal(t, o), PartitionKey: partitions[i : i+1], SequenceNumber: fmt.Sprintf("seq%d", i)},
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
		continuesFrom(t, t.Context(), handler, kinesisEvent(t, "abbacab", orders...), "seq2")
		// a3 comes after b2, which had failed when a0 ended; a0 comes before.
		check.Slice(t, ran, []string{"c4", "b1", "b2", "a0"})
		ran = nil
		for i := range orders {
			orders[i].Fail = false
		}
		continuesFrom(t, t.Context(), handler, kinesisEvent(t, "abbacab", orders...), "")
		slices.Sort(ran)
		check.Slice(t, ran, []string{"a3", "a5", "b2", "b6"})
	})
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
		continuesFrom(t, t.Context(), handler, json.RawMessage(golden(t, "dynamodb-stream.json")), "")
		check.Slice(t, ran, []string{"MODIFY", "INSERT", "REMOVE"})
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
	event := kafkaEvent(map[string][]events.KafkaRecord{"orders-0": {kafkaRecord(0, 1, ""), kafkaRecord(0, 2, `{"id":"o2"}`)}})
	var got []string
	handler := handlers.Kafka(x, nil, func(_ context.Context, r handlers.KafkaRecord[*order]) error {
		if r.Body == nil {
			got = append(got, "deleted")
			return nil
		}
		got = append(got, r.Body.ID)
		return nil
	}, nil)
	continuesFrom(t, t.Context(), handler, event, "")
	check.Slice(t, got, []string{"deleted", "o2"})
	values := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{OnFailure: quiet})
	answer, err := deliver(t.Context(), values, marshal(t, event))
	check.Nil(t, err)
	check.Equal(t, answer, `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":1}}]}`, "a body that cannot be nil")
}

// A place that Lambda does not know fails the whole batch, and says so.
func TestKafkaRecordOfAnotherPartitionFails(t *testing.T) {
	for name, records := range map[string]map[string][]events.KafkaRecord{
		"null":            {"orders-0": {{}}},
		"wrong partition": {"orders-0": {kafkaRecord(1, 5, `{"id":"o","fail":true}`)}},
	} {
		handler := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{OnFailure: quiet})
		_, err := deliver(t.Context(), handler, marshal(t, kafkaEvent(records)))
		check.Says(t, err, "kafka record 0: ", name)
	}
}

// Two clusters have the same topics and offsets; one cluster lists its
// servers in any order.
func TestKafkaClusters(t *testing.T) {
	s := &shop{}
	handler := handlers.Kafka(newExecutor(t, memory.New(0), nil), nil, place[events.KafkaRecord](s), nil)
	records := map[string][]events.KafkaRecord{"orders-0": {kafkaRecord(0, 1, `{"id":"o"}`)}}
	for _, servers := range []string{"a:9092,b:9092", "b:9092,a:9092", "c:9092"} {
		continuesFrom(t, t.Context(), handler, events.KafkaEvent{BootstrapServers: servers, Records: records}, "")
	}
	s.check(t, map[string]int{"o": 2})
}
