// Package sqspublisher publishes the messages of an outbox to a queue of SQS:
//
//	publish := sqspublisher.New(sqs.NewFromConfig(cfg), queueURL)
//	lambda.Start(relay.Outbox(publish, &relay.Options{Mark: box.MarkAll}))
package sqspublisher

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/internal/calls"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/outbound"
)

// maxBytes is the limit of a call, and of a message if the queue allows it.
const maxBytes = 1 << 20

// Client is the part of SQS that a publisher calls. *sqs.Client implements it.
type Client interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// New returns a publisher to a queue. The URL of a FIFO queue ends with ".fifo". Its
// message group is the aggregate or a digest of it. Its deduplication ID is the
// message's ID: the queue drops a message that is published again within 5 minutes.
//
// Bodies are text. Attributes are strings, with the Type as "type" and the chain key.
// A body or an attribute that SQS does not take fails alone, with a
// [*relay.UnsendableError].
//
// New panics with a [*driver.ConfigError] if the client is nil or the URL is empty.
func New(client Client, queueURL string) relay.Publisher {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "sqspublisher: the client is nil")
	mistakes.If(queueURL == "", "sqspublisher: the URL of the queue is empty")
	mistakes.Panic()
	return calls.Publisher(maxBytes,
		func(m outbound.Message) (types.SendMessageBatchRequestEntry, int, error) {
			t, err := calls.NewText(m, queueURL)
			attributes := make(map[string]types.MessageAttributeValue, len(t.Attributes))
			for name, value := range t.Attributes {
				attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
			}
			return types.SendMessageBatchRequestEntry{
				MessageBody: &t.Body, MessageAttributes: attributes, MessageGroupId: t.Group, MessageDeduplicationId: t.Deduplication,
			}, t.Bytes, err
		},
		func(ctx context.Context, entries []types.SendMessageBatchRequestEntry, r calls.Results) error {
			for i := range entries {
				entries[i].Id = calls.ID(i)
			}
			out, err := client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &queueURL, Entries: entries})
			if err != nil {
				return err
			}
			for _, e := range out.Successful {
				r.Sent(e.Id)
			}
			for _, e := range out.Failed {
				r.Refused(e.Id, e.Code, e.Message, e.SenderFault)
			}
			return nil
		})
}
