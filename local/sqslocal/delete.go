package sqslocal

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// delete deletes up to ten messages. It retries those for which the queue does not
// blame the request.
func (m Mapping) delete(ctx context.Context, messages []types.Message) (undeleted []*DeleteError) {
	const attempts = 3 // of three tries of the SDK each
	for attempt := 1; len(messages) > 0; attempt++ {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
		for i, message := range messages {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: message.ReceiptHandle}
		}
		out, err := m.Client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &m.QueueURL, Entries: entries})
		if err != nil {
			if attempt < attempts {
				continue
			}
			for _, message := range messages {
				undeleted = append(undeleted, &DeleteError{MessageID: aws.ToString(message.MessageId), Err: err})
			}
			return undeleted
		}
		var again []types.Message
		for i, message := range messages {
			failure := failureOf(message, strconv.Itoa(i), out)
			switch {
			case failure == nil:
			case !failure.SenderFault && attempt < attempts:
				again = append(again, message)
			default:
				undeleted = append(undeleted, failure)
			}
		}
		messages = again
	}
	return undeleted
}

// failureOf returns nil if the queue reports the message as deleted.
func failureOf(message types.Message, entry string, out *sqs.DeleteMessageBatchOutput) *DeleteError {
	for _, e := range out.Successful {
		if aws.ToString(e.Id) == entry {
			return nil
		}
	}
	failure := &DeleteError{MessageID: aws.ToString(message.MessageId), Reason: "the queue says nothing of it"}
	for _, e := range out.Failed {
		if aws.ToString(e.Id) == entry {
			failure.Code, failure.Reason, failure.SenderFault = aws.ToString(e.Code), aws.ToString(e.Message), e.SenderFault
		}
	}
	return failure
}
