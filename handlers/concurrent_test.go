package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// concurrentFunctions share one executor. Each order is placed once, or the
// invocation fails.
func concurrentFunctions(x *idempotent.Executor) map[string]any {
	s := &shop{}
	once := func(id string) error {
		if err := s.place(order{ID: id}); err != nil {
			return err
		}
		if n := s.placed()[id]; n != 1 {
			return fmt.Errorf("%s is placed %d times", id, n)
		}
		return nil
	}
	return map[string]any{
		"sqs":         handlers.SQS(x, nil, onceEach[events.SQSMessage](once), &handlers.SQSOptions{Concurrency: 4}),
		"sqs-fifo":    handlers.SQS(x, nil, onceEach[events.SQSMessage](once), &handlers.SQSOptions{Concurrency: 4}),
		"sns":         handlers.SNS(x, nil, onceEach[events.SNSEventRecord](once), &handlers.EventOptions{Concurrency: 4}),
		"eventbridge": handlers.EventBridge(x, nil, onceEach[events.EventBridgeEvent](once), nil),
		"kinesis":     handlers.Kinesis(x, nil, onceEach[events.KinesisEventRecord](once), &handlers.KinesisOptions{Concurrency: 4}),
		"kafka-msk":   handlers.Kafka(x, nil, onceEach[events.KafkaRecord](once), &handlers.KafkaOptions{Concurrency: 4}),
		"rabbitmq":    handlers.RabbitMQ(x, handlers.RabbitMQMessageID[order](), onceEach[events.RabbitMQMessage](once), &handlers.EventOptions{Concurrency: 4}),
		"activemq":    handlers.ActiveMQ(x, nil, onceEach[events.ActiveMQMessage](once), &handlers.EventOptions{Concurrency: 4}),
		"s3":          handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error { return once(r.S3.Object.Key) }, &handlers.EventOptions{Concurrency: 4}),
		"dynamodb-stream": handlers.DynamoDBStream(x, nil, func(_ context.Context, r events.DynamoDBEventRecord) error { return once(r.EventID) },
			&handlers.DynamoDBStreamOptions{Concurrency: 4}),
		"outbox": relay.Outbox(func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return nil, nil },
			&relay.Options{Concurrency: 4, Mark: func(context.Context, []driver.OutboxKey) error { return nil }}),
	}
}

func onceEach[E any](once func(id string) error) func(context.Context, handlers.Delivery[E, order]) error {
	return func(_ context.Context, d handlers.Delivery[E, order]) error { return once(d.Body.ID) }
}

// Lambda gives one process several invocations at a time (AWS_LAMBDA_MAX_CONCURRENCY).
// HTTP has a test of its own.
func TestConcurrentInvocations(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	functions := func() map[string]any {
		return concurrentFunctions(newExecutor(t, memory.New(0), &idempotent.Config{Wait: 10 * time.Second}))
	}
	for name := range functions() {
		t.Run(name, func(t *testing.T) {
			handler := functions()[name]
			event := golden(t, strings.Replace(name, "outbox", "../relay/testdata/outbox", 1)+".json")
			ctx := within(t, time.Minute)
			begin := make(chan struct{})
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					<-begin
					for range 4 {
						answer, err := deliver(ctx, handler, event)
						check.Nil(t, err)
						check.Lacks(t, answer, "itemIdentifier")
					}
				})
			}
			close(begin)
			callers.Wait()
		})
	}
}
