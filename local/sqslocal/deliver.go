package sqslocal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// A Batch is the result of the messages of one invocation.
type Batch struct {
	// Messages are the messages in the order in which they were received.
	Messages []types.Message
	// Response is the response of the function. It is the zero value if the
	// invocation had none.
	Response lambdaruntime.Response
	// Err is the reason why nothing was deleted: the *FunctionError of the
	// function, an [*AnswerError], or the error of Invoke.
	Err error
	// Failed are the IDs of the messages that stay in the queue. With an Err,
	// these are all messages.
	Failed []string
	// Undeleted are the messages that could not be deleted.
	Undeleted []*DeleteError
}

// deliver invokes the function once, and deletes the handled messages.
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

// failures returns the messages that a response reports as failed. An error means that
// the whole batch failed.
//
// It decodes into maps, because with a struct encoding/json would accept
// batchitemfailures as batchItemFailures, and AWS does not.
func failures(answer []byte, batch map[string]bool) (map[string]bool, error) {
	if len(bytes.TrimSpace(answer)) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return nil, &AnswerError{Answer: answer, Reason: err.Error()}
	}
	list, ok := members["batchItemFailures"]
	if !ok {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, &AnswerError{Answer: answer, Reason: err.Error()}
	}
	failed := make(map[string]bool, len(items))
	for i, item := range items {
		var id string
		raw, ok := item["itemIdentifier"]
		if !ok {
			return nil, &AnswerError{Answer: answer, Reason: fmt.Sprintf("item %d has no itemIdentifier", i)}
		}
		if err := json.Unmarshal(raw, &id); err != nil {
			return nil, &AnswerError{Answer: answer, Reason: err.Error()}
		}
		if !batch[id] { // "", which null is as well, is never in a batch
			return nil, &AnswerError{Answer: answer, Reason: fmt.Sprintf("item %d is %q, which is not in the batch", i, id)}
		}
		failed[id] = true
	}
	return failed, nil
}
