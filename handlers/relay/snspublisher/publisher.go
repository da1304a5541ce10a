// Package snspublisher publishes the messages of an outbox to a topic of SNS:
//
//	publish := snspublisher.New(sns.NewFromConfig(cfg), topicARN)
//	lambda.Start(relay.Outbox(publish, &relay.Options{Mark: box.MarkAll}))
package snspublisher

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/internal/calls"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/outbound"
)

// maxBytes is the limit of a call. A topic may allow more.
const maxBytes = 256 << 10

// Client is the part of SNS that a publisher calls. *sns.Client implements it.
type Client interface {
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// New returns a publisher to a topic. It sends what sqspublisher.New sends to a queue,
// and the ARN of a FIFO topic ends with ".fifo".
//
// New panics with a [*driver.ConfigError] if the client is nil or the ARN is empty.
func New(client Client, topicARN string) relay.Publisher {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "snspublisher: the client is nil")
	mistakes.If(topicARN == "", "snspublisher: the ARN of the topic is empty")
	mistakes.Panic()
	return calls.Publisher(maxBytes,
		func(m outbound.Message) (types.PublishBatchRequestEntry, int, error) {
			t, err := calls.NewText(m, topicARN)
			attributes := make(map[string]types.MessageAttributeValue, len(t.Attributes))
			for name, value := range t.Attributes {
				attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
			}
			return types.PublishBatchRequestEntry{
				Message: &t.Body, MessageAttributes: attributes, MessageGroupId: t.Group, MessageDeduplicationId: t.Deduplication,
			}, t.Bytes, err
		},
		func(ctx context.Context, entries []types.PublishBatchRequestEntry, r calls.Results) error {
			for i := range entries {
				entries[i].Id = calls.ID(i)
			}
			out, err := client.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: &topicARN, PublishBatchRequestEntries: entries})
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
