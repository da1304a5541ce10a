package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// SNSMessage is a notification that SNS delivers to the function itself.
type SNSMessage[T any] = Delivery[events.SNSEventRecord, T]

// SNS handles notifications of a topic. fn runs once per key. With a nil key,
// the key is the MessageId, which stays the same when SNS sends again, or the
// id of an event inside the notification ([FromEventBridge], [FromS3]). Chain
// keys are as in [SQS].
//
// SNS takes no report of single records: if one fails, Lambda delivers all of
// them again, and those that are done do not run again. A record whose duplicate
// is running waits for it, by default until the end of the invocation: Lambda
// retries an asynchronous invocation only twice, and then drops the event unless
// the function has an OnFailure destination.
func SNS[T any](x *idempotent.Executor, key func(SNSMessage[T]) (idempotent.Key, error), fn func(context.Context, SNSMessage[T]) error, o *EventOptions) func(context.Context, events.SNSEvent) error {
	b := newEventBatch(source{name: "sns", eventSources: []string{"aws:sns"}}, x, key, fn, o)
	return func(ctx context.Context, event events.SNSEvent) error {
		return b.handleAll(ctx, len(event.Records), func(i int) record[SNSMessage[T]] {
			e := event.Records[i]
			r := readRecord[T](e, []byte(e.SNS.Message), message{id: e.SNS.MessageID, chain: snsAttribute(e.SNS, ChainAttribute), issued: e.SNS.Timestamp})
			r.eventSource = e.EventSource
			return r
		})
	}
}

// SNSAttribute returns a key function that uses a message attribute as the ID.
func SNSAttribute[T any](name string) func(SNSMessage[T]) (idempotent.Key, error) {
	return idempotent.Field(func(m SNSMessage[T]) string { return snsAttribute(m.Source.SNS, name) })
}

func snsAttribute(m events.SNSEntity, name string) string {
	attribute, _ := m.MessageAttributes[name].(map[string]any)
	value, _ := attribute["Value"].(string)
	return value
}
