package handlers

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// KafkaRecord is a record of a topic. Its Source has key and value in base64,
// as they come; the Body is the decoded value.
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

// KafkaItemIdentifier is a place in a topic. Partition is the event's own name
// of it, such as "orders-3".
type KafkaItemIdentifier struct {
	Partition string `json:"partition"`
	Offset    int64  `json:"offset"`
}

// KafkaOptions holds the options of [Kafka]: [StreamOptions].
type KafkaOptions = StreamOptions[events.KafkaRecord]

// Kafka handles batches of Amazon MSK and of self-managed Apache Kafka, whose
// event source mapping has ReportBatchItemFailures: without it, Lambda takes a
// report of failures for success.
//
// fn runs once per key. A nil key stands for cluster, topic, partition and
// offset; the cluster is its ARN or, where it has none, the list of its
// bootstrap servers. A topic that is created anew counts its offsets from 0
// again: use an id of the business there. A record without a value, which
// deletes its key from a compacted topic, has the body nil if T is a pointer,
// is empty if T is string or []byte, and does not decode otherwise. Chain keys
// are as in [SQS], and come in a header.
//
// Records of a partition run in order, and the first that fails ends its
// partition. Partitions run at the same time, within Concurrency.
func Kafka[T any](x *idempotent.Executor, key func(KafkaRecord[T]) (idempotent.Key, error), fn func(context.Context, KafkaRecord[T]) error, o *KafkaOptions) func(context.Context, events.KafkaEvent) (KafkaEventResponse, error) {
	b := newStreamBatch(source{"kafka", []string{"aws:kafka", "SelfManagedKafka"}, true}, x, key, fn, o, func(r KafkaRecord[T]) events.KafkaRecord { return r.Source })
	return func(ctx context.Context, event events.KafkaEvent) (KafkaEventResponse, error) {
		places, cluster := kafkaPlaces(event), kafkaCluster(event)
		v, err := b.begin(ctx, len(places), func(i int) record[KafkaRecord[T]] {
			r, name := places[i].record, places[i].name()
			body, held, err := decodeKafka[T](r.Value)
			told := held.in(inner{chain: kafkaHeader(r, ChainAttribute), text: held.text})
			return record[KafkaRecord[T]]{
				id: name, mark: event.EventSource, delivery: KafkaRecord[T]{r, body, told.chain},
				key: streamKey(cluster, name), chain: told.chain, text: told.text, skip: told.skip, err: err,
			}
		})
		if err != nil {
			return KafkaEventResponse{}, err
		}
		lanes := byLane(len(places), func(i int) string { return places[i].partition })
		ends := v.handle(ctx, schedule{lanes: lanes, halt: haltLane})
		if err := v.unnamed(ends); err != nil {
			return KafkaEventResponse{}, err
		}
		failures := []KafkaBatchItemFailure{} // a nil one marshals as null
		for _, lane := range lanes {
			at := slices.IndexFunc(lane, func(i int) bool { return ends[i] != nil })
			if at >= 0 {
				place := places[lane[at]]
				failures = append(failures, KafkaBatchItemFailure{KafkaItemIdentifier{place.partition, place.record.Offset}})
			}
		}
		return KafkaEventResponse{BatchItemFailures: failures}, nil
	}
}

// kafkaPlace is a record where the event has it.
type kafkaPlace struct {
	partition string
	record    events.KafkaRecord
}

// name is "" for a record that is not where the event says, as one of null is.
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

// kafkaCluster is the same in whatever order the servers are listed.
func kafkaCluster(event events.KafkaEvent) string {
	servers := strings.Split(event.BootstrapServers, ",")
	slices.Sort(servers)
	if event.BootstrapServers == "" {
		return event.EventSourceARN
	}
	return cmp.Or(event.EventSourceARN, digestOf(servers...))
}

func decodeKafka[T any](value string) (body T, held inner, err error) {
	text, err := decodeBase64(value)
	if err != nil {
		return body, held, err
	}
	if value == "" && !isText[T]() {
		text = []byte("null")
	}
	body, held, err = decodeBody[T](text)
	return body, held.in(inner{text: text}), err
}

func decodeBase64(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, &DecodeError{Type: "base64", Err: err}
	}
	return decoded, nil
}

// KafkaHeader is a key function that takes the ID from the last header of that
// name.
func KafkaHeader[T any](name string) func(KafkaRecord[T]) (idempotent.Key, error) {
	return idempotent.Field(func(r KafkaRecord[T]) string { return kafkaHeader(r.Source, name) })
}
