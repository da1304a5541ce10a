package sqslocal

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	longPoll   = 20 * time.Second // the maximum of SQS
	perRequest = 10
)

// receive gathers a batch. With an error, it returns the messages received so far.
func (m Mapping) receive(ctx context.Context) ([]types.Message, error) {
	var batch []types.Message
	end := time.Time{}
	for {
		wait := longPoll
		if len(batch) > 0 {
			wait = min(wait, time.Until(end))
		}
		out, err := m.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl:                    &m.QueueURL,
			MaxNumberOfMessages:         int32(min(m.BatchSize-len(batch), perRequest)),
			MessageAttributeNames:       []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
			WaitTimeSeconds:             int32(wait / time.Second),
		})
		if err != nil {
			return batch, err
		}
		if len(batch) == 0 {
			end = time.Now().Add(m.Window)
		}
		batch = append(batch, out.Messages...)
		full := len(batch) >= m.BatchSize
		// SQS waits for whole seconds. Less than one would be a busy loop.
		if full || len(batch) == 0 || time.Until(end) < time.Second {
			return batch, nil
		}
	}
}
