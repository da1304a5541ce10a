package handlers

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// RabbitMQMessage is a message of a RabbitMQ queue. Its Source has the data in
// base64, as it comes.
type RabbitMQMessage[T any] = Delivery[events.RabbitMQMessage, T]

// RabbitMQ handles messages of Amazon MQ for RabbitMQ. fn runs once per key.
// There is no default: the message id is optional and the producer's own. See
// [RabbitMQMessageID] and [RabbitMQHeader]; a nil key panics. The chain key of
// a message comes in the header [ChainAttribute]; RabbitMQHeader makes it the
// key.
//
// There is no answer for single messages: if one fails, all come back, and
// those that are done are acknowledged without running.
func RabbitMQ[T any](x *idempotent.Executor, key func(RabbitMQMessage[T]) (idempotent.Key, error), fn func(context.Context, RabbitMQMessage[T]) error, o *EventOptions) func(context.Context, events.RabbitMQEvent) error {
	if key == nil {
		panic("handlers: rabbitmq: no key function: its messages have no key of their own")
	}
	b := newEventBatch(source{name: "rabbitmq", marks: []string{"aws:rmq"}}, x, key, fn, o)
	return func(ctx context.Context, event events.RabbitMQEvent) error {
		var messages []events.RabbitMQMessage
		for _, queue := range slices.Sorted(maps.Keys(event.MessagesByQueue)) {
			messages = append(messages, event.MessagesByQueue[queue]...)
		}
		return b.handleAll(ctx, len(messages), func(i int) record[RabbitMQMessage[T]] {
			m := messages[i]
			body, held, err := decodeData[T](m.Data)
			told := held.in(inner{chain: headerText(m.BasicProperties.Headers[ChainAttribute])})
			return record[RabbitMQMessage[T]]{
				mark: event.EventSource, delivery: RabbitMQMessage[T]{m, body, told.chain}, chain: told.chain, skip: told.skip, err: err,
			}
		})
	}
}

func decodeData[T any](data string) (body T, held inner, err error) {
	text, err := decodeBase64(data)
	if err != nil {
		return body, held, err
	}
	body, held, err = decodeBody[T](text)
	return body, held.in(inner{text: text}), err
}

// RabbitMQMessageID is a key function that takes the ID from the property
// message-id, for producers that set it to one that is unique.
func RabbitMQMessageID[T any]() func(RabbitMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m RabbitMQMessage[T]) string {
		if id := m.Source.BasicProperties.MessageID; id != nil {
			return *id
		}
		return ""
	})
}

// RabbitMQHeader is a key function that takes the ID from a header whose value
// is a string.
func RabbitMQHeader[T any](name string) func(RabbitMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m RabbitMQMessage[T]) string {
		return headerText(m.Source.BasicProperties.Headers[name])
	})
}

// headerText gives a header's text, which comes as {"bytes":[104,105]}.
func headerText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	fields, _ := value.(map[string]any)
	numbers, _ := fields["bytes"].([]any)
	text := make([]byte, len(numbers))
	for i, n := range numbers {
		b, ok := n.(float64)
		if !ok || b != float64(int(b)) || b < -128 || b > 255 {
			return ""
		}
		text[i] = byte(int(b)) // Java's bytes are signed
	}
	return string(text)
}
