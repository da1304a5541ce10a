package eventsource

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// Batch is what became of the messages of one invocation.
type Batch struct {
	// Messages as they were received, in that order.
	Messages []types.Message
	// Response of the function. It is the zero value where there is an Err
	// other than its own and [*AnswerError].
	Response lambdaruntime.Response
	// Err is why nothing was deleted: the *FunctionError that the function
	// has answered, an [*AnswerError], or what Invoke returned.
	Err error
	// Failed are the ids of the messages that stay in the queue, of all of
	// them where there is an Err.
	Failed []string
	// Undeleted are those that were to be deleted and could not be.
	Undeleted []*DeleteError
}

// deliver invokes the function once and settles its batch.
func (m Mapping) deliver(ctx context.Context, messages []types.Message) Batch {
	b := Batch{Messages: messages}
	failed, err := m.invoke(ctx, &b)
	b.Err = err
	var done []types.Message
	for _, message := range messages {
		if id := aws.ToString(message.MessageId); err != nil || failed[id] {
			b.Failed = append(b.Failed, id)
		} else {
			done = append(done, message)
		}
	}
	for chunk := range slices.Chunk(done, perRequest) {
		b.Undeleted = append(b.Undeleted, m.delete(ctx, chunk)...)
	}
	return b
}

func (m Mapping) invoke(ctx context.Context, b *Batch) (failed map[string]bool, err error) {
	payload, err := newEvent(m.QueueARN, b.Messages)
	if err != nil {
		return nil, err
	}
	response, err := m.Invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	b.Response = response
	if response.FunctionError != nil {
		return nil, response.FunctionError
	}
	if !m.ReportBatchItemFailures {
		return nil, nil
	}
	ids := make(map[string]bool, len(b.Messages))
	for _, message := range b.Messages {
		ids[aws.ToString(message.MessageId)] = true
	}
	return failures(response.Payload, ids)
}
