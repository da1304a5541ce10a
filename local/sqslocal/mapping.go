package sqslocal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// Client is the part of *sqs.Client that a mapping uses.
type Client interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// A Mapping connects a queue with a function. A field with its zero value has its
// default.
//
// As on AWS, messages are received with long polling, up to BatchSize for one
// invocation, and sent in an event of Lambda's form. If the function failed, crashed or
// timed out, nothing is deleted, and the batch returns after the visibility timeout.
// Otherwise everything is deleted. With ReportBatchItemFailures, the messages that the
// response lists are not:
//
//	response                                        deleted
//	null, nothing at all, {}                        all
//	{"batchItemFailures":null}, …[]                 all
//	{"batchItemFailures":[{"itemIdentifier":"a"}]}  all but a
//	an id that is empty, null, not in the batch     none
//	an item with a wrong key name                   none
//	invalid JSON, JSON of a wrong shape             none
//
// Other members of the response are ignored. With a misspelt batchItemFailures,
// everything is deleted. Names are case-sensitive. A message that cannot be deleted
// returns, although the function has handled it.
//
// Unlike on AWS, the number of pollers is fixed: it neither grows with the queue nor
// shrinks when the function fails. A batch is never split, so one that exceeds the limit
// of an invocation fails as a whole. There are no filters. A message is received only
// when the function can be invoked at once; AWS may receive it earlier.
type Mapping struct {
	// BatchSize is the maximum number of messages of an invocation: up to 10,000,
	// or up to 10 for a FIFO queue. More than 10 need a Window. Default: 10.
	BatchSize int
	// Client is the client of the queue. Required.
	Client Client
	// Invoke runs the function on an event, as Invoke of a
	// *lambdaruntime.Runtime does. The end of Run's context does not cancel it.
	// Required.
	Invoke func(ctx context.Context, payload []byte) (lambdaruntime.Response, error)
	// MaximumConcurrency is the maximum number of concurrent invocations. Tests
	// that need an order set 1. Default: 2, the minimum on AWS.
	MaximumConcurrency int
	// Observe is called with each batch when it has been handled, with one at a
	// time. Default: nothing is called.
	Observe func(Batch)
	// QueueARN is the source in the event. It ends in .fifo for a FIFO queue.
	// Required.
	QueueARN string
	// QueueURL is the URL of the queue. Required.
	QueueURL string
	// ReportBatchItemFailures lets the function report which messages failed.
	// Default: its response is ignored.
	ReportBatchItemFailures bool
	// Window is the time for which a batch is gathered after its first message,
	// up to five minutes. Default: the time of one receive.
	Window time.Duration
}

func (m Mapping) withDefaults() (Mapping, error) {
	m.BatchSize = cmp.Or(m.BatchSize, 10)
	m.MaximumConcurrency = cmp.Or(m.MaximumConcurrency, 2)
	fifo := strings.HasSuffix(m.QueueARN, ".fifo")
	switch {
	case m.Client == nil, m.Invoke == nil, m.QueueARN == "", m.QueueURL == "":
		return m, errors.New("sqslocal: a Mapping needs Client, Invoke, QueueARN and QueueURL")
	case len(strings.Split(m.QueueARN, ":")) != 6:
		return m, fmt.Errorf("sqslocal: QueueARN %q is not an ARN", m.QueueARN)
	case m.BatchSize < 0, m.BatchSize > 10_000, fifo && m.BatchSize > 10:
		return m, fmt.Errorf("sqslocal: a BatchSize of %d", m.BatchSize)
	case m.Window < 0, m.Window > 5*time.Minute, fifo && m.Window > 0:
		return m, fmt.Errorf("sqslocal: a Window of %v", m.Window)
	case m.BatchSize > 10 && m.Window < time.Second:
		return m, errors.New("sqslocal: a BatchSize over 10 needs a Window of a second")
	case m.MaximumConcurrency < 0:
		return m, fmt.Errorf("sqslocal: a MaximumConcurrency of %d", m.MaximumConcurrency)
	}
	return m, nil
}

// Run feeds the function until ctx is done, and returns when every invocation has
// returned and its batch has been handled. A message that was being received at that
// moment is invisible until its visibility timeout.
//
// The error joins a [*DeleteError] for each message that could not be deleted. If no
// messages can be received, Run returns a [*ReceiveError]. Run does not return errors of
// the function: see Observe.
func (m Mapping) Run(ctx context.Context) error {
	m, err := m.withDefaults()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var pollers sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	settled := func(b Batch) {
		mu.Lock()
		defer mu.Unlock()
		for _, err := range b.Undeleted {
			errs = append(errs, err)
		}
		if m.Observe != nil {
			m.Observe(b)
		}
	}
	for range m.MaximumConcurrency {
		pollers.Go(func() {
			if err := m.poll(ctx, settled); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				cancel()
			}
		})
	}
	pollers.Wait()
	return errors.Join(errs...)
}

func (m Mapping) poll(ctx context.Context, settled func(Batch)) error {
	for ctx.Err() == nil {
		messages, err := m.receive(ctx)
		if len(messages) > 0 {
			// Also for an incomplete batch, whose messages are invisible to all
			// other receivers.
			settled(m.deliver(context.WithoutCancel(ctx), messages))
		}
		if err != nil && ctx.Err() == nil {
			return &ReceiveError{Queue: m.QueueURL, Err: err}
		}
	}
	return nil
}

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
