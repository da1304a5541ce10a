package handlers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/digest"
	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
)

// KafkaRecord is a record of a topic. Key and value in its Source are in
// base64; the Body is the decoded value.
type KafkaRecord[T any] = Delivery[events.KafkaRecord, T]

// KafkaEventResponse reports the first failed record of each partition, in the
// form that Lambda's event source mapping for Kafka takes.
type KafkaEventResponse struct {
	BatchItemFailures []KafkaBatchItemFailure `json:"batchItemFailures"`
}

// KafkaBatchItemFailure is one failed record.
type KafkaBatchItemFailure struct {
	ItemIdentifier KafkaItemIdentifier `json:"itemIdentifier"`
}

// KafkaItemIdentifier is a place in a topic. Partition is the name that the
// event uses, such as "orders-3".
type KafkaItemIdentifier struct {
	Partition string `json:"partition"`
	Offset    int64  `json:"offset"`
}

// KafkaOptions are the options of [Kafka]: [StreamOptions].
type KafkaOptions = StreamOptions[events.KafkaRecord]

// Kafka handles batches of Amazon MSK and of self-managed Apache Kafka. The
// event source mapping must have ReportBatchItemFailures: without it, Lambda
// takes a report of failures for success.
//
// fn runs once per key. With a nil key, the key is the cluster, topic, partition
// and offset. The cluster is its ARN or, without one, the list of its bootstrap
// servers. A topic that is created anew counts its offsets from 0 again: use an
// id of the business there. Chain keys are as in [SQS], in a header.
//
// A record without a value deletes its key from a compacted topic. Its body is
// nil if T is a pointer, empty if T is string or []byte, and does not decode
// otherwise.
//
// Records of a partition run in order, and the first that fails stops its
// partition. Partitions run at the same time, within Concurrency.
//
// Config.RefuseLate judges a record by its timestamp if the topic has the
// message.timestamp.type LogAppendTime. Every other timestamp is the producer's, who may
// send any: a key function that trusts it sets Key.Issued.
func Kafka[T any](x *idempotent.Executor, key func(KafkaRecord[T]) (idempotent.Key, error), fn func(context.Context, KafkaRecord[T]) error, o *KafkaOptions) func(context.Context, events.KafkaEvent) (KafkaEventResponse, error) {
	b := newStreamBatch(source{name: "kafka", eventSources: []string{"aws:kafka", "SelfManagedKafka"}, reports: true}, x, key, fn, o, func(r KafkaRecord[T]) events.KafkaRecord { return r.Source })
	return func(ctx context.Context, event events.KafkaEvent) (KafkaEventResponse, error) {
		places, cluster := kafkaPlaces(event), kafkaCluster(event)
		v, err := b.begin(ctx, len(places), func(i int) record[KafkaRecord[T]] {
			e, name := places[i].record, places[i].name()
			value := e.Value
			if value == "" && !isText[T]() {
				value = "bnVsbA==" // null
			}
			r := readBase64[T](e, value, message{id: name, chain: kafkaHeader(e, ChainAttribute), issued: kafkaAppended(e)})
			r.eventSource, r.key = event.EventSource, streamKey(cluster, name)
			return r
		})
		if err != nil {
			return KafkaEventResponse{}, err
		}
		partitions := lanes.By(len(places), func(i int) string { return places[i].partition })
		results := v.handle(ctx, lanes.Schedule{Lanes: partitions, Halt: lanes.HaltLane})
		if err := v.checkIDs(results); err != nil {
			return KafkaEventResponse{}, err
		}
		failures := []KafkaBatchItemFailure{} // nil marshals as null
		for _, partition := range partitions {
			at := slices.IndexFunc(partition, func(i int) bool { return results[i] != nil })
			if at >= 0 {
				place := places[partition[at]]
				failures = append(failures, KafkaBatchItemFailure{KafkaItemIdentifier{place.partition, place.record.Offset}})
			}
		}
		return KafkaEventResponse{BatchItemFailures: failures}, nil
	}
}

// kafkaAppended returns when the broker appended a record, or the zero time for a topic
// whose timestamps are the producers'.
func kafkaAppended(r events.KafkaRecord) time.Time {
	if r.TimestampType != "LOG_APPEND_TIME" {
		return time.Time{}
	}
	return r.Timestamp.Time
}

// kafkaPlace is a record and the partition under which the event lists it.
type kafkaPlace struct {
	partition string
	record    events.KafkaRecord
}

// name returns "" for a record, such as null, whose partition is not the one that
// lists it.
func (p kafkaPlace) name() string {
	if p.record.Topic == "" || p.partition != fmt.Sprintf("%s-%d", p.record.Topic, p.record.Partition) {
		return ""
	}
	return fmt.Sprintf("%s@%d", p.partition, p.record.Offset)
}

func kafkaPlaces(event events.KafkaEvent) []kafkaPlace {
	var places []kafkaPlace
	for _, partition := range slices.Sorted(maps.Keys(event.Records)) {
		for _, r := range event.Records[partition] {
			places = append(places, kafkaPlace{partition, r})
		}
	}
	return places
}

// kafkaCluster returns the same name for every order of the servers.
func kafkaCluster(event events.KafkaEvent) string {
	servers := strings.Split(event.BootstrapServers, ",")
	slices.Sort(servers)
	if event.BootstrapServers == "" {
		return event.EventSourceARN
	}
	return cmp.Or(event.EventSourceARN, digest.Of(servers...))
}

// KafkaHeader returns a key function that uses the last header of that name as
// the ID.
func KafkaHeader[T any](name string) func(KafkaRecord[T]) (idempotent.Key, error) {
	return idempotent.Field(func(r KafkaRecord[T]) string { return kafkaHeader(r.Source, name) })
}

func kafkaHeader(r events.KafkaRecord, name string) (value string) {
	for _, header := range r.Headers {
		if v, ok := header[name]; ok {
			value = string(v)
		}
	}
	return value
}
