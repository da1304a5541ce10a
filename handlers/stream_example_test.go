package handlers_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

type reading struct {
	Sensor string
	Value  int
}

// A reading that can never be stored would block its shard. Poison puts it aside, and
// the readings behind it go on.
func ExampleKinesis() {
	x, err := idempotent.New("store-reading", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	store := func(_ context.Context, r handlers.KinesisRecord[reading]) error {
		if r.Body.Value < 0 {
			return idempotent.Permanent(errors.New("a negative reading"))
		}
		fmt.Println("stored", r.Body.Value, "of", r.Body.Sensor)
		return nil
	}
	handler := handlers.Kinesis(x, nil, store, &handlers.KinesisOptions{
		Poison: func(_ context.Context, r events.KinesisEventRecord, err error) error {
			fmt.Println("put aside", r.EventID+":", err) // in a queue, or a bucket
			return nil
		},
	})
	var event events.KinesisEvent
	for id, data := range []string{`{"Sensor": "a", "Value": -1}`, `{"Sensor": "a", "Value": 20}`} {
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventID: fmt.Sprintf("shardId-0:%d", id), EventSourceArn: "arn:aws:kinesis:eu-central-1:123456789012:stream/readings",
			Kinesis: events.KinesisRecord{SequenceNumber: fmt.Sprint(id), PartitionKey: "a", Data: []byte(data)},
		})
	}
	response, err := handler(context.Background(), event)
	fmt.Println("failures:", response.BatchItemFailures, err)
	// Output:
	// put aside shardId-0:0: a negative reading
	// stored 20 of a
	// failures: [] <nil>
}

// The key is that of the message, which the producer chooses: offsets count from 0 again in a topic that is
// created anew.
func ExampleKafka() {
	x, err := idempotent.New("store-reading", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	key := func(r handlers.KafkaRecord[reading]) (idempotent.Key, error) {
		return idempotent.Key{Scope: r.Source.Topic, ID: r.Source.Key, Payload: r.Body}, nil
	}
	store := func(_ context.Context, r handlers.KafkaRecord[reading]) error {
		fmt.Println("stored", r.Body.Value, "of", r.Body.Sensor)
		return nil
	}
	handler := handlers.Kafka(x, key, store, nil)
	encode := base64.StdEncoding.EncodeToString
	record := events.KafkaRecord{
		Topic: "readings", Key: encode([]byte("reading-17")), Value: encode([]byte(`{"Sensor": "a", "Value": 20}`)),
	}
	again := record
	again.Offset = 1 // the producer has sent it twice
	response, err := handler(context.Background(), events.KafkaEvent{
		EventSource: "aws:kafka", Records: map[string][]events.KafkaRecord{"readings-0": {record, again}},
	})
	fmt.Println("failures:", response.BatchItemFailures, err)
	// Output:
	// stored 20 of a
	// failures: [] <nil>
}
