package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Order is the body of the messages in the examples.
type Order struct{ ID string }

// One of two messages fails, and is reported. When both are delivered again, the
// other does not run again.
func ExampleSQS() {
	x, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	soldOut := true
	place := func(_ context.Context, m handlers.SQSMessage[Order]) error {
		if m.Body.ID == "order-2" && soldOut {
			return errors.New("sold out")
		}
		fmt.Println("placed", m.Body.ID)
		return nil
	}
	key := idempotent.Field(func(m handlers.SQSMessage[Order]) string { return m.Body.ID })
	handler := handlers.SQS(x, key, place, &handlers.SQSOptions{
		OnFailure: func(_ context.Context, failed *handlers.RecordError) { fmt.Println(failed) },
	}) // lambda.Start(handler)

	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", EventSource: "aws:sqs", Body: `{"ID":"order-1"}`},
		{MessageId: "m2", EventSource: "aws:sqs", Body: `{"ID":"order-2"}`},
	}}
	for range 2 {
		response, err := handler(context.Background(), batch)
		fmt.Println("failures:", response.BatchItemFailures, err)
		soldOut = false
	}
	// Output:
	// placed order-1
	// handlers: sqs record 1 (m2): sold out
	// failures: [{m2}] <nil>
	// placed order-2
	// failures: [] <nil>
}

// A queue subscribes to a topic. The default key is the notification's, so that
// two messages with one notification run once.
func ExampleFromSNS() {
	x, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	handler := handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[Order]]) error {
		fmt.Println("placed", m.Body.Body.ID)
		return nil
	}, nil)

	// SNS publishes the notification twice, in two messages of the queue.
	const notification = `{"Type":"Notification","MessageId":"n1","TopicArn":"arn:aws:sns:eu-central-1:123456789012:orders","Message":"{\"ID\":\"order-1\"}","Timestamp":"2026-08-01T00:00:00.000Z"}`
	for _, id := range []string{"m1", "m2"} {
		response, err := handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: id, Body: notification}}})
		fmt.Println("failures:", response.BatchItemFailures, err)
	}
	// Output:
	// placed order-1
	// failures: [] <nil>
	// failures: [] <nil>
}
