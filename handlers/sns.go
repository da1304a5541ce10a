package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// SNSMessage is a notification that SNS delivers to the function itself.
type SNSMessage[T any] = Delivery[events.SNSEventRecord, T]

// SNS handles notifications of a topic. fn runs once per key. A nil key stands
// for the MessageId, which stays the same when SNS sends again, or the inner id
// of what is unwrapped by [FromEventBridge] and [FromS3]. Chain keys are as in
// [SQS].
//
// There is no answer for single records: if one fails, all come back, and
// those that are done are acknowledged without running. A record whose twin is
// running waits for it, by default as long as there is time: Lambda tries an
// asynchronous invocation only twice more, and then loses it, unless the
// function has an OnFailure destination.
func SNS[T any](x *idempotent.Executor, key func(SNSMessage[T]) (idempotent.Key, error), fn func(context.Context, SNSMessage[T]) error, o *EventOptions) func(context.Context, events.SNSEvent) error {
	b := newEventBatch(source{name: "sns", marks: []string{"aws:sns"}}, x, key, fn, o)
	return func(ctx context.Context, event events.SNSEvent) error {
		return b.handleAll(ctx, len(event.Records), func(i int) record[SNSMessage[T]] {
			r := event.Records[i]
			body, held, err := decodeBody[T]([]byte(r.SNS.Message))
			told := held.in(inner{id: r.SNS.MessageID, chain: snsAttribute(r.SNS, ChainAttribute), text: []byte(r.SNS.Message)})
			return record[SNSMessage[T]]{
				id: r.SNS.MessageID, mark: r.EventSource, delivery: SNSMessage[T]{r, body, told.chain},
				key: idempotent.Key{ID: told.id}, chain: told.chain, text: told.text, skip: told.skip, err: err,
			}
		})
	}
}

// SNSAttribute is a key function that takes the ID from a message attribute.
func SNSAttribute[T any](name string) func(SNSMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m SNSMessage[T]) string { return snsAttribute(m.Source.SNS, name) })
}
