package sqslocal_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

const (
	standard = "arn:aws:sqs:eu-west-1:123456789012:orders"
	fifo     = standard + ".fifo"
)

// script is a queue that returns one list of messages after the other, and then nothing
// until its context is done.
type script struct {
	mu       sync.Mutex
	gives    [][]types.Message
	receives []*sqs.ReceiveMessageInput
	deletes  [][]string // receipt handles, request by request
	// refuse returns the response to a delete. Default: everything is deleted.
	refuse func(request int, e types.DeleteMessageBatchRequestEntry) *types.BatchResultErrorEntry
	// fail makes the request fail.
	fail func(request int) error
	// receiveError is returned when no messages are left.
	receiveError error
	// empty is called when no messages are left.
	empty func()
}

func (s *script) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	s.mu.Lock()
	s.receives = append(s.receives, in)
	if len(s.gives) > 0 {
		defer s.mu.Unlock()
		gives := s.gives[0]
		s.gives = s.gives[1:]
		return &sqs.ReceiveMessageOutput{Messages: gives}, nil
	}
	s.mu.Unlock()
	if s.receiveError != nil {
		return nil, s.receiveError
	}
	if s.empty != nil {
		s.empty()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *script) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := len(s.deletes)
	var handles []string
	out := new(sqs.DeleteMessageBatchOutput)
	for _, e := range in.Entries {
		handles = append(handles, *e.ReceiptHandle)
		if s.refuse != nil {
			if refusal := s.refuse(request, e); refusal != nil {
				out.Failed = append(out.Failed, *refusal)
				continue
			}
		}
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: e.Id})
	}
	s.deletes = append(s.deletes, handles)
	if s.fail != nil {
		if err := s.fail(request); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func message(id string) types.Message {
	return types.Message{
		MessageId: &id, ReceiptHandle: aws.String("handle-" + id), Body: aws.String("body of " + id), MD5OfBody: aws.String("md5"),
		Attributes: map[string]string{
			"ApproximateReceiveCount": "1", "SentTimestamp": "1545082649183", "SenderId": "AIDAIENQZJOLO23YVJ4VO",
			"ApproximateFirstReceiveTimestamp": "1545082649185",
		},
	}
}

func messages(ids ...string) (list []types.Message) {
	for _, id := range ids {
		list = append(list, message(id))
	}
	return list
}

func numbered(from, to int) (list []types.Message) {
	for i := from; i < to; i++ {
		list = append(list, message(fmt.Sprint(i)))
	}
	return list
}

func answers(payload string) func(context.Context, []byte) (lambdaruntime.Response, error) {
	return func(context.Context, []byte) (lambdaruntime.Response, error) {
		return lambdaruntime.Response{Payload: []byte(payload)}, nil
	}
}

// play runs the mapping until its queue is empty, and returns its batches.
func play(t *testing.T, s *script, m sqslocal.Mapping) ([]sqslocal.Batch, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.empty = cancel
	var batches []sqslocal.Batch
	m.Client, m.QueueURL, m.Observe = s, "url", func(b sqslocal.Batch) { batches = append(batches, b) }
	if m.QueueARN == "" {
		m.QueueARN = standard
	}
	if m.MaximumConcurrency == 0 {
		m.MaximumConcurrency = 1
	}
	err := m.Run(ctx)
	return batches, err
}

// deleted returns what was deleted, without repetitions.
func (s *script) deleted() (ids []string) {
	for _, request := range s.deletes {
		for _, handle := range request {
			if !slices.Contains(ids, handle) {
				ids = append(ids, handle)
			}
		}
	}
	return ids
}
