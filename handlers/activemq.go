package handlers

import (
	"context"

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
			r := readBase64[T](m, m.Data, message{id: m.MessageID, chain: m.Properties[ChainAttribute]})
			r.eventSource, r.key = event.EventSource, streamKey(event.EventSourceARN, m.MessageID)
			return r
		})
	}
}

// ActiveMQProperty returns a key function that uses a property as the ID.
func ActiveMQProperty[T any](name string) func(ActiveMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m ActiveMQMessage[T]) string { return m.Source.Properties[name] })
}
