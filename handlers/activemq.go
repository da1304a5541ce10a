package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// ActiveMQMessage is a message of an ActiveMQ queue. Its Source has the data
// in base64, as it comes.
type ActiveMQMessage[T any] = Delivery[events.ActiveMQMessage, T]

// ActiveMQ handles messages of Amazon MQ for ActiveMQ. fn runs once per key. A
// nil key stands for the broker and the message id, which the broker assigns
// and keeps in a redelivery. Chain keys are as in [SQS], and come in a
// property.
//
// There is no answer for single messages: if one fails, all come back, and
// those that are done are acknowledged without running.
func ActiveMQ[T any](x *idempotent.Executor, key func(ActiveMQMessage[T]) (idempotent.Key, error), fn func(context.Context, ActiveMQMessage[T]) error, o *EventOptions) func(context.Context, events.ActiveMQEvent) error {
	b := newEventBatch(source{name: "activemq", marks: []string{"aws:mq"}}, x, key, fn, o)
	return func(ctx context.Context, event events.ActiveMQEvent) error {
		return b.handleAll(ctx, len(event.Messages), func(i int) record[ActiveMQMessage[T]] {
			m := event.Messages[i]
			body, held, err := decodeData[T](m.Data)
			told := held.in(inner{chain: m.Properties[ChainAttribute], text: held.text})
			return record[ActiveMQMessage[T]]{
				id: m.MessageID, mark: event.EventSource, delivery: ActiveMQMessage[T]{m, body, told.chain},
				key: streamKey(event.EventSourceARN, m.MessageID), chain: told.chain, text: told.text, skip: told.skip, err: err,
			}
		})
	}
}

// ActiveMQProperty is a key function that takes the ID from a property.
func ActiveMQProperty[T any](name string) func(ActiveMQMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m ActiveMQMessage[T]) string { return m.Source.Properties[name] })
}
