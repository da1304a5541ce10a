package eventsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// Client is what a mapping needs of *sqs.Client.
type Client interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Mapping is what a function and a queue are connected by. The zero value of
// each optional field is its default.
type Mapping struct {
	// BatchSize is how many messages an invocation gets at most: up to 10,000,
	// of a FIFO queue up to 10. More than 10 need a Window. Default: 10.
	BatchSize int
	// Client of the queue. Required.
	Client Client
	// Invoke runs the function on an event, such as Invoke of a
	// *lambdaruntime.Runtime. Its context does not end with Run's. Required.
	Invoke func(ctx context.Context, payload []byte) (lambdaruntime.Response, error)
	// MaximumConcurrency is how many invocations run at once. Default: 2, the
	// least that AWS takes; 1 is for tests that need an order.
	MaximumConcurrency int
	// Observe is told of each batch when it is settled, of one at a time.
	// Default: nobody is told.
	Observe func(Batch)
	// QueueARN is what the event says of its source; it ends in .fifo if the
	// queue is one. Required.
	QueueARN string
	// QueueURL is the queue to receive from. Required.
	QueueURL string
	// ReportBatchItemFailures lets the function say which messages failed.
	// Default: its answer is ignored.
	ReportBatchItemFailures bool
	// Window is how long a batch is gathered, up to five minutes, beginning
	// with its first message. Default: no longer than one receive takes.
	Window time.Duration
}

func (m Mapping) withDefaults() (Mapping, error) {
	if m.BatchSize == 0 {
		m.BatchSize = 10
	}
	if m.MaximumConcurrency == 0 {
		m.MaximumConcurrency = 2
	}
	fifo := strings.HasSuffix(m.QueueARN, ".fifo")
	switch {
	case m.Client == nil, m.Invoke == nil, m.QueueARN == "", m.QueueURL == "":
		return m, errors.New("eventsource: a Mapping needs Client, Invoke, QueueARN and QueueURL")
	case len(strings.Split(m.QueueARN, ":")) != 6:
		return m, fmt.Errorf("eventsource: QueueARN %q is no ARN", m.QueueARN)
	case m.BatchSize < 0, m.BatchSize > 10_000, fifo && m.BatchSize > 10:
		return m, fmt.Errorf("eventsource: a BatchSize of %d", m.BatchSize)
	case m.Window < 0, m.Window > 5*time.Minute, fifo && m.Window > 0:
		return m, fmt.Errorf("eventsource: a Window of %v", m.Window)
	case m.BatchSize > 10 && m.Window < time.Second:
		return m, errors.New("eventsource: a BatchSize over 10 needs a Window of a second")
	case m.MaximumConcurrency < 0:
		return m, fmt.Errorf("eventsource: a MaximumConcurrency of %d", m.MaximumConcurrency)
	}
	return m, nil
}

// Run feeds the function until ctx ends, and returns when every invocation has
// ended and its batch is settled. A message that was on its way at that moment
// is in nobody's hands until its visibility timeout.
//
// The error joins a [*DeleteError] for each message that could not be deleted.
// A queue that cannot be received from ends Run with a [*ReceiveError]. What
// the function does wrong is no error of Run's: see Observe.
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
			// Also when the batch could not be filled: what was received is
			// hidden from everybody else.
			settled(m.deliver(context.WithoutCancel(ctx), messages))
		}
		if err != nil && ctx.Err() == nil {
			return &ReceiveError{Queue: m.QueueURL, Err: err}
		}
	}
	return nil
}
