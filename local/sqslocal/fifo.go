package sqslocal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// A FIFO is a FIFO queue with a dead-letter queue, in the memory of the test: goaws
// delivers one message at a time, without its group. It is the Client of an
// sqslocal.Mapping, and runs in a testing/synctest bubble.
//
// A receive returns messages in the order in which they were sent, several of a group
// too. A group with an invisible message returns none until that message is deleted or
// visible again. A message that was received MaxReceiveCount times moves to the
// dead-letter queue at the next receive. Nothing is deduplicated, and nothing expires.
type FIFO struct {
	options QueueOptions

	mu       sync.Mutex
	messages []*queued // in the order in which they were sent
	dead     []types.Message
	sent     int
}

// queued is a message of a FIFO.
type queued struct {
	types.Message
	group    string
	receives int
	hidden   time.Time // until then it is invisible
}

// NewFIFO returns an empty queue. If options is nil, all defaults apply.
func NewFIFO(t TB, o *QueueOptions) *FIFO {
	t.Helper()
	c, err := o.withDefaults()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &FIFO{options: c}
}

// ARN returns the queue's ARN, for the QueueARN of a mapping.
func (q *FIFO) ARN() string { return arn("local.fifo") }

// Send sends a message to a message group.
func (q *FIFO) Send(group, body string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent++
	id := fmt.Sprint("message-", q.sent)
	q.messages = append(q.messages, &queued{group: group, Message: types.Message{MessageId: &id, Body: &body, Attributes: map[string]string{
		"MessageGroupId": group, "MessageDeduplicationId": id, "SequenceNumber": fmt.Sprintf("%020d", q.sent),
		"SentTimestamp": fmt.Sprint(time.Now().UnixMilli()),
	}}})
}

// DeadLetters returns the messages in the dead-letter queue.
func (q *FIFO) DeadLetters() []types.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.dead)
}

// ReceiveMessage looks for visible messages ten times a second.
func (q *FIFO) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	end := time.After(time.Duration(in.WaitTimeSeconds) * time.Second)
	for {
		if received := q.receive(int(in.MaxNumberOfMessages)); len(received) > 0 {
			return &sqs.ReceiveMessageOutput{Messages: received}, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-end:
			return &sqs.ReceiveMessageOutput{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *FIFO) receive(most int) (received []types.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, blocked := time.Now(), map[string]bool{}
	for _, m := range q.messages {
		blocked[m.group] = blocked[m.group] || m.hidden.After(now)
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *queued) bool {
		switch {
		case blocked[m.group] || len(received) == most:
			return false
		case m.receives == q.options.MaxReceiveCount:
			q.dead = append(q.dead, m.Message)
			return true
		}
		m.receives++
		m.hidden = now.Add(q.options.VisibilityTimeout)
		m.Attributes = maps.Clone(m.Attributes) // the receiver before may keep them
		m.Attributes["ApproximateReceiveCount"] = fmt.Sprint(m.receives)
		m.ReceiptHandle = aws.String(fmt.Sprint(*m.MessageId, "/", m.receives))
		received = append(received, m.Message)
		return false
	})
	return received
}

// DeleteMessageBatch deletes messages. It fails for a receipt handle that is not the
// last one of its message.
func (q *FIFO) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := new(sqs.DeleteMessageBatchOutput)
	for _, e := range in.Entries {
		i := slices.IndexFunc(q.messages, func(m *queued) bool { return aws.ToString(m.ReceiptHandle) == *e.ReceiptHandle })
		if i < 0 {
			out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: e.Id, Code: aws.String("ReceiptHandleIsInvalid"), SenderFault: true})
			continue
		}
		q.messages = slices.Delete(q.messages, i, i+1)
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: e.Id})
	}
	return out, nil
}
