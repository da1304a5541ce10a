package docs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/internal/check"
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
		Retention: 28 * 24 * time.Hour, // a queue's 14 days at most, and 14 in its dead-letter queue; FIFO: 42
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

func deduplicationID(m handlers.SQSMessage[Order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Source.Attributes["MessageDeduplicationId"], Payload: m.Body}, nil
}

func month(m handlers.EventBridgeEvent[json.RawMessage]) (idempotent.Key, error) {
	return idempotent.Key{ID: "invoices-" + m.Source.Time.UTC().Format("2006-01")}, nil
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
		check.Must(t, err)
		check.Equal(t, len(got.BatchItemFailures), 0, got)
	}
	check.Slice(t, placed, []string{"old"}, "placed")
}

// A send that is repeated after the five minutes of the queue is a new message with the
// id of the first one.
func TestEventsPageOfDeduplicationIDs(t *testing.T) {
	placed := 0
	handler := handlers.SQS(executor(t, "place-order", nil), deduplicationID, func(context.Context, handlers.SQSMessage[Order]) error {
		placed++
		return nil
	}, &handlers.SQSOptions{OnFailure: func(context.Context, *handlers.RecordError) {}})
	send := func(messageID string, attributes map[string]string) int {
		t.Helper()
		answer, err := handler(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{
			MessageId: messageID, Body: `{"orderId":"o"}`, Attributes: attributes, EventSourceARN: "arn:aws:sqs:us-east-1:111122223333:orders.fifo",
		}}})
		check.Must(t, err)
		return len(answer.BatchItemFailures)
	}
	for _, messageID := range []string{"m-1", "m-2"} {
		check.Equal(t, send(messageID, map[string]string{"MessageDeduplicationId": "d"}), 0, messageID, "failures")
	}
	check.Equal(t, placed, 1, "times placed")
	check.Equal(t, send("m-3", nil), 1, "a message without the id")
	check.Equal(t, placed, 1, "times placed")
}

func TestEventsPageOfSchedules(t *testing.T) {
	input := json.RawMessage(`{"id": "arn:aws:scheduler:us-east-1:111122223333:schedule/default/daily/2026-11-23T06:00:00Z", "detail": {"report": "daily"}}`)
	var event events.EventBridgeEvent
	check.Must(t, json.Unmarshal(input, &event))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	sent := 0
	handler := handlers.EventBridge(executor(t, "send-report", nil), nil, func(context.Context, handlers.EventBridgeEvent[struct{ Report string }]) error {
		sent++
		return nil
	}, nil)
	for range 2 {
		check.Must(t, handler(ctx, event))
	}
	check.Equal(t, sent, 1, "times sent")

	first, err := month(handlers.EventBridgeEvent[json.RawMessage]{Source: events.EventBridgeEvent{Time: time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)}})
	check.Nil(t, err)
	check.Equal(t, first.ID, "invoices-2026-11")
}

// The expressions of the page select something in events of these triggers.
func TestEventsPageOfTriggersWithoutAHandler(t *testing.T) {
	page := read(t, "docs/events.md")
	for expression, c := range map[string]struct{ event, want string }{
		"arguments.input.requestId":                        {`{"arguments": {"input": {"requestId": "r-1"}}, "identity": {"sub": "ada"}}`, "r-1"},
		"identity.sub":                                     {`{"arguments": {"input": {"requestId": "r-1"}}, "identity": {"sub": "ada"}}`, "ada"},
		"powertools_json(body).requestId":                  {`{"requestContext": {"connectionId": "c"}, "body": "{\"requestId\": \"r-1\"}"}`, "r-1"},
		"join('/', [userPoolId, triggerSource, userName])": {`{"userPoolId": "p", "triggerSource": "PostConfirmation_ConfirmSignUp", "userName": "ada"}`, "p/PostConfirmation_ConfirmSignUp/ada"},
	} {
		key, err := keypath.Path[json.RawMessage](expression)(json.RawMessage(c.event))
		check.Nil(t, err, expression)
		check.Equal(t, key.ID, c.want, expression)
		check.True(t, strings.Contains(page, "`"+expression+"`"), "the page has", expression)
	}
}
