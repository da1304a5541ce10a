package outbox

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/lambda-once/once/idempotent/outbound"
)

// SNSClient is the part of the SNS client that [SNS] uses.
type SNSClient interface {
	PublishBatch(ctx context.Context, in *sns.PublishBatchInput, o ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// SNS returns a function that publishes to a topic, as [SQS] does to a queue.
func SNS(client SNSClient, topicARN string) Publish {
	fifo := isFIFO(topicARN)
	return func(ctx context.Context, _ string, batch []outbound.Message) ([]error, error) {
		return calls(ctx, batch,
			func(m outbound.Message) (types.PublishBatchRequestEntry, int, error) {
				t, err := newTextMessage(m, fifo)
				attributes := make(map[string]types.MessageAttributeValue, len(t.attributes))
				for name, value := range t.attributes {
					attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
				}
				return types.PublishBatchRequestEntry{
					Message: &t.body, MessageAttributes: attributes,
					MessageGroupId: t.group, MessageDeduplicationId: t.deduplication,
				}, t.bytes, err
			},
			func(ctx context.Context, entries []types.PublishBatchRequestEntry) ([]error, error) {
				for i := range entries {
					entries[i].Id = aws.String(strconv.Itoa(i))
				}
				out, err := client.PublishBatch(ctx, &sns.PublishBatchInput{TopicArn: &topicARN, PublishBatchRequestEntries: entries})
				if err != nil {
					return nil, err
				}
				a := newAnswer(len(entries))
				for _, e := range out.Successful {
					a.succeeded(e.Id)
				}
				for _, e := range out.Failed {
					a.refused(e.Id, e.Code, e.Message, e.SenderFault)
				}
				return a, nil
			}), nil
	}
}
