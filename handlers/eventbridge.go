package handlers

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/lambdaerror"
	"github.com/lambda-once/once/idempotent"
)

// EventBridgeEvent is an event of a bus, with its detail as the body.
type EventBridgeEvent[T any] = Delivery[events.EventBridgeEvent, T]

// EventBridge handles events of a bus. fn runs once per key. With a nil key,
// the key is the event's id. AWS does not document whether the replay of an
// archive keeps ids: an id in the detail is safer there. Chain keys are as in
// [SQS], in the detail: see [ChainDetail].
//
// The input of a schedule of EventBridge Scheduler replaces the whole event. Use the
// form {"id":"<aws.scheduler.schedule-arn>/<aws.scheduler.scheduled-time>","detail":{…}}.
// AWS describes <aws.scheduler.execution-id> as unique for each attempted invocation, so
// with that id a retry would run again. EventBridge does not handle the lists that Pipes
// send.
//
// Config.RefuseLate judges an event by its time, which the replay of an archive keeps:
// replayed events may be refused. To run them on purpose, send the replay to a function
// whose executor does not set RefuseLate. An event of a producer that sets a time of its
// own is as old as that.
//
// Failures and duplicates are handled as in [SNS].
func EventBridge[T any](x *idempotent.Executor, key func(EventBridgeEvent[T]) (idempotent.Key, error), fn func(context.Context, EventBridgeEvent[T]) error, o *EventOptions) func(context.Context, events.EventBridgeEvent) error {
	b := newEventBatch(source{name: "eventbridge"}, x, key, fn, o)
	return func(ctx context.Context, event events.EventBridgeEvent) error {
		err := b.handleAll(ctx, 1, func(int) record[EventBridgeEvent[T]] {
			chain, err := eventChain(event.Detail)
			r := readRecord[T](event, event.Detail, message{id: event.ID, chain: chain, issued: event.Time})
			if r.err == nil && err != nil {
				r.err = &DecodeError{Type: "an event with a chain key", Err: err}
			}
			return r
		})
		if batch, ok := errors.AsType[*BatchError](err); ok {
			return lambdaerror.Reported(batch.Failed[0].Err) // there is no other record to tell it from
		}
		return err
	}
}
