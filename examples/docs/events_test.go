package docs_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// The code of docs/events.md.

type Order struct {
	OrderID  string `json:"orderId"`
	Quantity int    `json:"quantity"`
}

func orderID(m handlers.SQSMessage[Order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.OrderID, Payload: m.Body}, nil
}

func placeOrder(ctx context.Context, m handlers.SQSMessage[Order]) error {
	return nil
}

func serveQueue(store driver.Store) error {
	x, err := idempotent.New("place-order", store, &idempotent.Config{
		Retention: 28 * 24 * time.Hour, // 14 days in the queue, and 14 in its dead-letter queue
	})
	if err != nil {
		return err
	}
	lambda.Start(handlers.SQS(x, orderID, placeOrder, nil))
	return nil
}

func serveSteps(x *idempotent.Executor) {
	lambda.Start(handlers.Invoke(x, key, createPayment))
}

func placeNotified(ctx context.Context, m handlers.SQSMessage[handlers.FromSNS[Order]]) error {
	order := m.Body.Body
	_ = order
	return nil
}

func placeStreamed(ctx context.Context, r handlers.KinesisRecord[Order]) error { return nil }

func park(ctx context.Context, r events.KinesisEventRecord, err error) error {
	return deadLetters.Send(ctx, r.Kinesis.Data)
}

var deadLetters queue

type queue struct{}

func (queue) Send(context.Context, []byte) error { return nil }

func serveStream(x *idempotent.Executor) {
	lambda.Start(handlers.Kinesis(x, nil, placeStreamed, &handlers.KinesisOptions{
		Concurrency: 4,    // partition keys at a time, each in order
		Poison:      park, // takes what can never succeed, so that it blocks nothing
	}))
}

func TestEventsPageOfQueues(t *testing.T) {
	x := mustPolicies(t)
	handler := handlers.SQS(x, orderID, placeOrder, nil)
	answer, err := handler(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: `{"orderId":"o"}`}}})
	text, notJSON := json.Marshal(answer)
	if err != nil || notJSON != nil || string(text) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v, %v", text, err, notJSON)
	}
}

var (
	_ = serveQueue
	_ = serveSteps
	_ = serveStream
	_ = placeNotified
)

// A topic that is created anew counts its offsets from 0 again.
func TestKafkaRecordOfATopicCreatedAnewHasTheKeyOfAnOldOne(t *testing.T) {
	x := executor(t, "place-order", nil)
	var placed []string
	handle := handlers.Kafka(x, nil, func(_ context.Context, r handlers.KafkaRecord[string]) error {
		placed = append(placed, r.Body)
		return nil
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, value := range []string{"b2xk", "bmV3"} { // "old" and "new"
		got, err := handle(ctx, events.KafkaEvent{
			EventSource: "aws:kafka", EventSourceARN: "arn:aws:kafka:us-east-1:111122223333:cluster/shop/1",
			Records: map[string][]events.KafkaRecord{"orders-0": {{Topic: "orders", Offset: 0, Value: value}}},
		})
		if err != nil || len(got.BatchItemFailures) > 0 {
			t.Fatal(got, err)
		}
	}
	if len(placed) != 1 || placed[0] != "old" {
		t.Errorf("placed %q", placed)
	}
}
