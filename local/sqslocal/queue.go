package sqslocal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// QueueOptions are the options of [NewQueue] and [Server.CreateQueue]. A field with its
// zero value has its default.
type QueueOptions struct {
	// MaxReceiveCount is the number of times that a message is received before it
	// moves to the dead-letter queue. Default: 3.
	MaxReceiveCount int
	// VisibilityTimeout is the time for which a received message is invisible, in
	// whole seconds. Default: 30 s.
	VisibilityTimeout time.Duration
}

func (o *QueueOptions) withDefaults() (QueueOptions, error) {
	var c QueueOptions
	if o != nil {
		c = *o
	}
	c.MaxReceiveCount = cmp.Or(c.MaxReceiveCount, 3)
	c.VisibilityTimeout = cmp.Or(c.VisibilityTimeout, 30*time.Second)
	if c.MaxReceiveCount < 0 || c.MaxReceiveCount > 1000 {
		return c, fmt.Errorf("sqslocal: MaxReceiveCount is %d, want 1 to 1000", c.MaxReceiveCount)
	}
	// The server accepts no fractions, and treats 0 s as 30 s.
	if c.VisibilityTimeout < 0 || c.VisibilityTimeout%time.Second != 0 {
		return c, fmt.Errorf("sqslocal: VisibilityTimeout is %v, want whole seconds", c.VisibilityTimeout)
	}
	return c, nil
}

// A Queue is a standard queue with a dead-letter queue.
type Queue struct {
	URL, ARN string
	// DeadLetterURL is the URL of the dead-letter queue.
	DeadLetterURL string
}

// CreateQueue creates a queue, and a dead-letter queue with its name and "-dlq". No
// client may receive from the server at the same time.
func (s *Server) CreateQueue(ctx context.Context, name string, o *QueueOptions) (Queue, error) {
	c, err := o.withDefaults()
	if err != nil {
		return Queue{}, err
	}
	dead, err := s.create(ctx, name+"-dlq", nil)
	if err != nil {
		return Queue{}, err
	}
	redrive, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": arn(name + "-dlq"), "maxReceiveCount": strconv.Itoa(c.MaxReceiveCount),
	})
	if err != nil {
		return Queue{}, fmt.Errorf("sqslocal: %w", err)
	}
	url, err := s.create(ctx, name, map[string]string{
		"RedrivePolicy":     string(redrive),
		"VisibilityTimeout": strconv.Itoa(int(c.VisibilityTimeout / time.Second)),
	})
	return Queue{URL: url, ARN: arn(name), DeadLetterURL: dead}, err
}

func arn(name string) string { return "arn:aws:sqs:" + region + ":" + account + ":" + name }

func (s *Server) create(ctx context.Context, name string, attributes map[string]string) (url string, err error) {
	created, err := s.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("sqslocal: create queue %s: %w", name, err)
	}
	return *created.QueueUrl, nil
}
