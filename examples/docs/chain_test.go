package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The two functions of a chain in docs/outbox-and-chains.md.

// A seller is the first function: it asks the warehouse, over a queue, to reserve goods.
type seller struct {
	queue interface {
		SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	}
	url string
}

// sell may fail after it has sent the message. The retry sends it again, with the same key.
func (s seller) sell(ctx context.Context, o Order) (string, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	attributes := map[string]types.MessageAttributeValue{}
	for name, value := range handlers.ChainAttributes(ctx, "reserve") {
		attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	_, err = s.queue.SendMessage(ctx, &sqs.SendMessageInput{
		MessageAttributes: attributes, MessageBody: aws.String(string(body)), QueueUrl: &s.url,
	})
	return "sold", err
}

// A warehouse is the second function, behind the queue. Its key is that of the message,
// because SQS is called without a key function.
type warehouse struct{ reserved int }

func (w *warehouse) handler(store driver.Store) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	x, err := idempotent.New("reserve", store, &idempotent.Config{Retention: 28 * 24 * time.Hour})
	return handlers.SQS(x, nil, w.reserve, nil), err
}

func (w *warehouse) reserve(_ context.Context, m handlers.SQSMessage[Order]) error {
	w.reserved += m.Body.Quantity
	return nil
}

// messages is a queue whose answers are lost.
type messages struct{ sent []events.SQSMessage }

var errAnswerLost = errors.New("the answer of the queue is lost")

func (q *messages) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	m := events.SQSMessage{MessageId: string(rune('a' + len(q.sent))), Body: *in.MessageBody, MessageAttributes: map[string]events.SQSMessageAttribute{}}
	for name, a := range in.MessageAttributes {
		m.MessageAttributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue}
	}
	q.sent = append(q.sent, m)
	return nil, errAnswerLost
}

func TestChainOfThePageReservesOnce(t *testing.T) {
	q, w := &messages{}, &warehouse{}
	store := memory.New(0)
	x, err := idempotent.New("sell", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := w.handler(store)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sell := handlers.Invoke(x, func(o Order) (idempotent.Key, error) { return idempotent.Key{ID: o.OrderID}, nil }, seller{q, "queue"}.sell)
		if _, err := sell(t.Context(), Order{OrderID: "o-1", Quantity: 2}); !errors.Is(err, errAnswerLost) {
			t.Fatal(err)
		}
	}
	if len(q.sent) != 2 {
		t.Fatalf("%d messages are sent, want 2", len(q.sent))
	}
	if r, err := handler(t.Context(), events.SQSEvent{Records: q.sent}); err != nil || len(r.BatchItemFailures) != 0 {
		t.Errorf("%v, %v", r, err)
	}
	if w.reserved != 2 {
		t.Errorf("%d are reserved, want 2", w.reserved)
	}
}
