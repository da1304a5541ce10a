// Package sqspublisher publishes the messages of an outbox to a queue of SQS.
package sqspublisher

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/internal/calls"
	"github.com/lambda-once/once/idempotent/driver"
)

// Client is the part of SQS that a publisher calls: an *sqs.Client.
type Client interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// New returns a publisher to a queue. The URL of a FIFO queue ends with ".fifo". Its
// message group is the aggregate or a digest of it. Its deduplication ID is the
// message's ID: the queue drops a message that is published again within 5 minutes.
//
// Bodies are text. Attributes are strings, with the Type as "type" and the chain key.
// A message with others fails alone, with a [*relay.MessageError].
//
// New panics with a [*driver.ConfigError] if the client is nil or the URL is empty.
func New(client Client, queueURL string) relay.Publisher {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "sqspublisher: the client is nil")
	mistakes.If(queueURL == "", "sqspublisher: the URL of the queue is empty")
	mistakes.Panic()
	return calls.Publisher(func(id string, m driver.OutboxMessage) (types.SendMessageBatchRequestEntry, int, error) {
		attributes := map[string]types.MessageAttributeValue{}
		t, err := calls.NewText(m, queueURL, func(name, value string) {
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
		})
		return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String(string(m.Body)), MessageAttributes: attributes,
			MessageGroupId: t.Group, MessageDeduplicationId: t.Deduplication}, t.Bytes, err
	}, func(ctx context.Context, _ []string, entries []types.SendMessageBatchRequestEntry, failed map[string]error) error {
		out, err := client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &queueURL, Entries: entries})
		if err != nil {
			return err
		}
		for _, e := range out.Successful {
			delete(failed, *e.Id)
		}
		for _, e := range out.Failed {
			failed[*e.Id] = &relay.MessageError{Reason: aws.ToString(e.Code), Text: aws.ToString(e.Message), Permanent: e.SenderFault}
		}
		return nil
	})
}
