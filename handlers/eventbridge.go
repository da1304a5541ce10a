package handlers

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// EventBridgeEvent is an event of a bus, with its detail as the body.
type EventBridgeEvent[T any] = Delivery[events.EventBridgeEvent, T]

// EventBridge handles events of a bus. fn runs once per key. A nil key stands
// for the event's id. Whether an archive that is replayed keeps the ids is not
// documented: an id in the detail is safer there. Chain keys are as in [SQS],
// and come in the detail, see [ChainDetail].
//
// The input of a schedule of EventBridge Scheduler takes the place of the whole
// event. Give it the form {"id":"<aws.scheduler.execution-id>","detail":{…}}.
// Pipes send lists, and are not for this handler.
//
// What [SNS] says of failures holds here too.
func EventBridge[T any](x *idempotent.Executor, key func(EventBridgeEvent[T]) (idempotent.Key, error), fn func(context.Context, EventBridgeEvent[T]) error, o *EventOptions) func(context.Context, events.EventBridgeEvent) error {
	b := newEventBatch(source{name: "eventbridge"}, x, key, fn, o)
	return func(ctx context.Context, event events.EventBridgeEvent) error {
		err := b.handleAll(ctx, 1, func(int) record[EventBridgeEvent[T]] {
			body, held, err := decodeBody[T](event.Detail)
			chain, unreadable := eventChain(event.Detail)
			if err == nil && unreadable != nil {
				err = &DecodeError{Type: "an event with a chain key", Err: unreadable}
			}
			told := held.in(inner{id: event.ID, chain: chain, text: event.Detail})
			return record[EventBridgeEvent[T]]{
				id: event.ID, delivery: EventBridgeEvent[T]{event, body, told.chain},
				key: idempotent.Key{ID: told.id}, chain: told.chain, text: told.text, skip: told.skip, err: err,
			}
		})
		if batch, ok := errors.AsType[*BatchError](err); ok {
			return reported(batch.Failed[0].Err) // there is no other record to name it among
		}
		return err
	}
}
