package outbox

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/idempotent/outbound"
)

// SQSClient is the part of the SQS client that [SQS] uses.
type SQSClient interface {
	SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// SQS returns a function that publishes to a queue. The URL of a FIFO queue ends with
// ".fifo". Its message group is the aggregate or a digest of it, and the
// deduplication ID is the message's ID.
//
// Bodies are text. Attributes are strings, with the Type as "type".
func SQS(client SQSClient, queueURL string) Publish {
	fifo := isFIFO(queueURL)
	return func(ctx context.Context, _ string, batch []outbound.Message) ([]error, error) {
		return calls(ctx, batch,
			func(m outbound.Message) (types.SendMessageBatchRequestEntry, int, error) {
				t, err := newTextMessage(m, fifo)
				attributes := make(map[string]types.MessageAttributeValue, len(t.attributes))
				for name, value := range t.attributes {
					attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
				}
				return types.SendMessageBatchRequestEntry{
					MessageBody: &t.body, MessageAttributes: attributes,
					MessageGroupId: t.group, MessageDeduplicationId: t.deduplication,
				}, t.bytes, err
			},
			func(ctx context.Context, entries []types.SendMessageBatchRequestEntry) ([]error, error) {
				for i := range entries {
					entries[i].Id = aws.String(strconv.Itoa(i))
				}
				out, err := client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &queueURL, Entries: entries})
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
