package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Lambda retries an asynchronous invocation after a failure. The notification
// that succeeded does not run again.
func ExampleSNS() {
	x, err := idempotent.New("send-mail", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	attempt := 0
	handler := handlers.SNS(x, nil, func(_ context.Context, m handlers.SNSMessage[Order]) error {
		if m.Body.ID == "order-2" && attempt == 1 {
			return errors.New("the mail server is busy")
		}
		fmt.Println("mail for", m.Body.ID)
		return nil
	}, &handlers.EventOptions{OnFailure: func(context.Context, *handlers.RecordError) {}})

	event := events.SNSEvent{Records: []events.SNSEventRecord{
		{EventSource: "aws:sns", SNS: events.SNSEntity{MessageID: "n1", Message: `{"ID":"order-1"}`}},
		{EventSource: "aws:sns", SNS: events.SNSEntity{MessageID: "n2", Message: `{"ID":"order-2"}`}},
	}}
	for attempt = 1; attempt <= 2; attempt++ {
		fmt.Println(handler(context.Background(), event))
	}
	// Output:
	// mail for order-1
	// handlers: 1 failed, and the source takes no report of single records
	// sns record 1 (n2): the mail server is busy
	// mail for order-2
	// <nil>
}

// A producer puts one event on the bus twice, with two ids. The key is an id of
// the business.
func ExampleEventBridge() {
	x, err := idempotent.New("ship-order", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	key := idempotent.Field(func(e handlers.EventBridgeEvent[Order]) string { return e.Body.ID })
	handler := handlers.EventBridge(x, key, func(_ context.Context, e handlers.EventBridgeEvent[Order]) error {
		fmt.Println("shipped", e.Body.ID)
		return nil
	}, nil)
	for _, id := range []string{"e1", "e2"} {
		event := events.EventBridgeEvent{ID: id, DetailType: "OrderPlaced", Detail: json.RawMessage(`{"ID":"order-1"}`)}
		fmt.Println(id, handler(context.Background(), event))
	}
	// Output:
	// shipped order-1
	// e1 <nil>
	// e2 <nil>
}

// S3 delivers a notification twice. A new version of the object is another event.
func ExampleS3() {
	x, err := idempotent.New("make-thumbnail", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	handler := handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error {
		fmt.Println("thumbnail of", r.S3.Object.URLDecodedKey, r.S3.Object.VersionID)
		return nil
	}, nil)
	for _, version := range []string{"v1", "v1", "v2"} {
		var r events.S3EventRecord
		r.EventSource, r.EventName = "aws:s3", "ObjectCreated:Put"
		r.S3.Bucket.Name, r.S3.Object.URLDecodedKey = "photos", "cat.jpg"
		r.S3.Object.VersionID, r.S3.Object.Sequencer = version, "00"+version
		if err := handler(context.Background(), handlers.S3Event{Records: []events.S3EventRecord{r}}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// thumbnail of cat.jpg v1
	// thumbnail of cat.jpg v2
}

// A change that can never be handled would block its shard. Poison puts it
// aside, and the stream continues.
func ExampleDynamoDBStream() {
	x, err := idempotent.New("index-item", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	index := func(_ context.Context, r events.DynamoDBEventRecord) error {
		if r.EventName == "REMOVE" {
			return idempotent.Permanent(errors.New("removals are not indexed"))
		}
		fmt.Println("indexed", r.EventID)
		return nil
	}
	handler := handlers.DynamoDBStream(x, nil, index, &handlers.DynamoDBStreamOptions{
		Poison: func(_ context.Context, r events.DynamoDBEventRecord, err error) error {
			fmt.Println("put aside", r.EventID+":", err)
			return nil
		},
	})
	const stream = "arn:aws:dynamodb:eu-central-1:123456789012:table/items/stream/2026"
	response, err := handler(context.Background(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{
		{EventID: "1", EventName: "REMOVE", EventSourceArn: stream, Change: events.DynamoDBStreamRecord{SequenceNumber: "100"}},
		{EventID: "2", EventName: "INSERT", EventSourceArn: stream, Change: events.DynamoDBStreamRecord{SequenceNumber: "200"}},
	}})
	fmt.Println("failures:", response.BatchItemFailures, err)
	// Output:
	// put aside 1: removals are not indexed
	// indexed 2
	// failures: [] <nil>
}
