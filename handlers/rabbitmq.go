package handlers

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// RabbitMQMessage is a message of a RabbitMQ queue. The data in its Source is
// in base64.
type RabbitMQMessage[T any] = Delivery[events.RabbitMQMessage, T]

// RabbitMQ handles messages of Amazon MQ for RabbitMQ. fn runs once per key.
// There is no default key, because the message id is optional and the
// producer's own: use [RabbitMQMessageID], [RabbitMQHeader] or a key
// function of your own. RabbitMQ panics if key is nil. The chain key of a message arrives in
// the header [ChainAttribute], which RabbitMQHeader can make the key.
//
// RabbitMQ takes no report of single messages: if one fails, Lambda delivers
// all of them again, and those that are done do not run again.
func RabbitMQ[T any](x *idempotent.Executor, key func(RabbitMQMessage[T]) (idempotent.Key, error), fn func(context.Context, RabbitMQMessage[T]) error, o *EventOptions) func(context.Context, events.RabbitMQEvent) error {
	b := newEventBatch(source{name: "rabbitmq", eventSources: []string{"aws:rmq"}, keyless: true}, x, key, fn, o)
	warnOfRetention("rabbitmq", x)
	return func(ctx context.Context, event events.RabbitMQEvent) error {
		var messages []events.RabbitMQMessage
		for _, queue := range slices.Sorted(maps.Keys(event.MessagesByQueue)) {
			messages = append(messages, event.MessagesByQueue[queue]...)
		}
		return b.handleAll(ctx, len(messages), func(i int) record[RabbitMQMessage[T]] {
			m := messages[i]
			r := readBase64[T](m, m.Data, message{chain: headerText(m.BasicProperties.Headers[ChainAttribute])})
			r.eventSource = event.EventSource
			return r
		})
	}
}

// RabbitMQMessageID returns a key function that uses the property message-id as
// the ID, for producers that set a unique one.
func RabbitMQMessageID[T any]() func(RabbitMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m RabbitMQMessage[T]) string {
		if id := m.Source.BasicProperties.MessageID; id != nil {
			return *id
		}
		return ""
	})
}

// RabbitMQHeader returns a key function that uses a header with a string value
// as the ID.
func RabbitMQHeader[T any](name string) func(RabbitMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m RabbitMQMessage[T]) string {
		return headerText(m.Source.BasicProperties.Headers[name])
	})
}

// headerText returns the text of a header, which arrives as
// {"bytes":[104,105]}.
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
