// Package snspublisher publishes the messages of an outbox to a topic of SNS.
package snspublisher

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/internal/calls"
	"github.com/lambda-once/once/idempotent/driver"
)

// Client is the part of SNS that a publisher calls: an *sns.Client.
type Client interface {
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// New returns a publisher to a topic. It sends messages as sqspublisher.New does to a queue.
// The ARN of a FIFO topic ends with ".fifo".
//
// New panics with a [*driver.ConfigError] if the client is nil or the ARN is empty.
func New(client Client, topicARN string) relay.Publisher {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "snspublisher: the client is nil")
	mistakes.If(topicARN == "", "snspublisher: the ARN of the topic is empty")
	mistakes.Panic()
	return calls.Publisher(func(id string, m driver.OutboxMessage) (types.PublishBatchRequestEntry, int, error) {
		attributes := map[string]types.MessageAttributeValue{}
		t, err := calls.NewText(m, topicARN, func(name, value string) {
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
		})
		return types.PublishBatchRequestEntry{Id: &id, Message: aws.String(string(m.Body)), MessageAttributes: attributes,
			MessageGroupId: t.Group, MessageDeduplicationId: t.Deduplication}, t.Bytes, err
	}, func(ctx context.Context, _ []string, entries []types.PublishBatchRequestEntry, failed map[string]error) error {
		out, err := client.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: &topicARN, PublishBatchRequestEntries: entries})
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
