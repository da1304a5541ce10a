package handlers

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// ActiveMQMessage is a message of an ActiveMQ queue. The data in its Source is
// in base64.
type ActiveMQMessage[T any] = Delivery[events.ActiveMQMessage, T]

// ActiveMQ handles messages of Amazon MQ for ActiveMQ. fn runs once per key.
// With a nil key, the key is the broker and the message id, which the broker
// assigns and keeps in a redelivery. Chain keys are as in [SQS], in a property.
//
// ActiveMQ takes no report of single messages: if one fails, Lambda delivers
// all of them again, and those that are done do not run again.
func ActiveMQ[T any](x *idempotent.Executor, key func(ActiveMQMessage[T]) (idempotent.Key, error), fn func(context.Context, ActiveMQMessage[T]) error, o *EventOptions) func(context.Context, events.ActiveMQEvent) error {
	b := newEventBatch(source{name: "activemq", eventSources: []string{"aws:mq"}}, x, key, fn, o)
	warnOfRetention("activemq", x)
	return func(ctx context.Context, event events.ActiveMQEvent) error {
		return b.handleAll(ctx, len(event.Messages), func(i int) record[ActiveMQMessage[T]] {
			m := event.Messages[i]
			r := readBase64[T](m, m.Data, message{id: m.MessageID, chain: m.Properties[ChainAttribute], issued: brokerIn(m)})
			r.eventSource, r.key = event.EventSource, streamKey(event.EventSourceARN, m.MessageID)
			return r
		})
	}
}

// brokerIn returns when the broker received a message, or the zero time.
func brokerIn(m events.ActiveMQMessage) time.Time {
	if m.BrokerInTime <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.BrokerInTime)
}

// ActiveMQProperty returns a key function that uses a property as the ID.
func ActiveMQProperty[T any](name string) func(ActiveMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m ActiveMQMessage[T]) string { return m.Source.Properties[name] })
}

// RabbitMQMessage is a message of a RabbitMQ queue. The data in its Source is
// in base64.
type RabbitMQMessage[T any] = Delivery[events.RabbitMQMessage, T]

// RabbitMQ handles messages of Amazon MQ for RabbitMQ. fn runs once per key.
// There is no default key, because the message id is optional and the
// producer's own: use [RabbitMQMessageID], [RabbitMQHeader] or a key
// function of your own. RabbitMQ panics if key is nil. The chain key of a message arrives in
// the header [ChainAttribute], which RabbitMQHeader can make the key.
//
// Config.RefuseLate refuses no message unless the key function sets Key.Issued: RabbitMQ
// does not say when it received a message, and the property timestamp is the producer's.
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

// shortRetention is how long SQS keeps a message by default. Brokers keep theirs
// until they are consumed.
const shortRetention = 4 * 24 * time.Hour

// warnOfRetention logs that a queue may deliver a message when its record has
// expired. The handler does not know how long its queue keeps messages.
func warnOfRetention(source string, x *idempotent.Executor) {
	if x.Retention() >= shortRetention {
		return
	}
	slog.Default().LogAttrs(context.Background(), slog.LevelWarn,
		"the records of a queue expire early, and a message that is delivered after that runs again; set Config.Retention to what the queue and its dead-letter queue keep together",
		slog.String("source", source), slog.String("operation", x.Operation()), slog.Duration("retention", x.Retention()))
}
