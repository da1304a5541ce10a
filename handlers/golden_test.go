package handlers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// TestGoldenEvents delivers the event of every source twice. The responses are
// compared byte for byte.
func TestGoldenEvents(t *testing.T) {
	for name, test := range map[string]struct {
		event   string
		handler func(*idempotent.Executor, *shop) any
		answer  string         // a file; "" is an invocation without answer
		fails   string         // what the invocation's error names
		runs    map[string]int // after two deliveries
	}{
		"SQS": {
			event: "sqs.json", answer: "sqs.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
			},
			runs: map[string]int{"o0": 1, "o1": 2, "o2": 1},
		},
		"SQS by an attribute": {
			event: "sqs.json", answer: "sqs.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, handlers.SQSAttribute[order]("order-id"), place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
			},
			runs: map[string]int{"o0": 1, "o1": 2, "o2": 1},
		},
		"SQS FIFO": {
			event: "sqs-fifo.json", answer: "sqs-fifo.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, Concurrency: 8})
			},
			runs: map[string]int{"o0": 1, "o1": 2},
		},
		"SQS FIFO, other groups go on": {
			event: "sqs-fifo.json", answer: "sqs-fifo-continue.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, ContinueGroups: true, Concurrency: 8})
			},
			runs: map[string]int{"o0": 1, "o1": 2, "o2": 1, "o4": 1},
		},
		"SNS in SQS": {
			event: "sqs-from-sns.json", answer: "none.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[order]]) error {
					return s.place(m.Body.Body)
				}, nil)
			},
			runs: map[string]int{"o0": 1},
		},
		"EventBridge in SQS": {
			event: "sqs-from-eventbridge.json", answer: "none.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromEventBridge[order]]) error {
					return s.place(m.Body.Body)
				}, nil)
			},
			runs: map[string]int{"o0": 1},
		},
		"S3 in SQS, and its test event": {
			event: "sqs-from-s3.json", answer: "none.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromS3]) error {
					if len(m.Body.Records) == 0 {
						return errors.New("there is nothing to run for")
					}
					for _, r := range m.Body.Records {
						if err := s.place(order{ID: r.S3.Object.URLDecodedKey}); err != nil {
							return err
						}
					}
					return nil
				}, nil)
			},
			runs: map[string]int{"in/order 0 ü.json": 1, "in/order 1.json": 1},
		},
		"SNS": {
			event: "sns.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SNS(x, nil, place[events.SNSEventRecord](s), nil)
			},
			runs: map[string]int{"o0": 1},
		},
		"SNS by an attribute": {
			event: "sns.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.SNS(x, handlers.SNSAttribute[order]("order-id"), place[events.SNSEventRecord](s), nil)
			},
			runs: map[string]int{"o0": 1},
		},
		"EventBridge": {
			event: "eventbridge.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.EventBridge(x, nil, place[events.EventBridgeEvent](s), nil)
			},
			runs: map[string]int{"o0": 1},
		},
		"S3": {
			event: "s3.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error {
					return s.place(order{ID: r.S3.Object.URLDecodedKey})
				}, nil)
			},
			runs: map[string]int{"in/order 0 ü.json": 1, "in/order 1.json": 1},
		},
		"the test event of S3": {
			event: "s3-test.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error { return s.place(order{}) }, nil)
			},
			runs: nil,
		},
		"Kinesis": {
			event: "kinesis.json", answer: "kinesis.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{OnFailure: quiet})
			},
			runs: map[string]int{"o0": 1, "o1": 1, "o2": 2},
		},
		"DynamoDB stream": {
			event: "dynamodb-stream.json", answer: "dynamodb-stream.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.DynamoDBStream(x, nil, func(_ context.Context, r events.DynamoDBEventRecord) error {
					return s.place(order{ID: r.EventName + " " + r.Change.Keys["id"].String(), Fail: r.EventName == "MODIFY"})
				}, &handlers.DynamoDBStreamOptions{OnFailure: quiet})
			},
			runs: map[string]int{"INSERT o0": 1, "MODIFY o1": 2},
		},
		"MSK": {
			event: "kafka-msk.json", answer: "kafka.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.Kafka(x, nil, place[events.KafkaRecord](s), &handlers.KafkaOptions{OnFailure: quiet})
			},
			runs: map[string]int{"o0": 1, "o1": 2, "o3": 1, "o4": 2},
		},
		"self-managed Kafka, by a header": {
			event: "kafka-self-managed.json", answer: "kafka.answer.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.Kafka(x, handlers.KafkaHeader[order]("order-id"), place[events.KafkaRecord](s), &handlers.KafkaOptions{OnFailure: quiet, Concurrency: 8})
			},
			runs: map[string]int{"o0": 1, "o1": 2, "o3": 1, "o4": 2},
		},
		"RabbitMQ by its message id": {
			event: "rabbitmq.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.RabbitMQ(x, handlers.RabbitMQMessageID[order](), place[events.RabbitMQMessage](s), nil)
			},
			runs: map[string]int{"o0": 1, "o1": 1},
		},
		"RabbitMQ by a header": {
			event: "rabbitmq.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.RabbitMQ(x, handlers.RabbitMQHeader[order]("order-id"), place[events.RabbitMQMessage](s), nil)
			},
			runs: map[string]int{"o0": 1, "o1": 1},
		},
		"RabbitMQ without its key": {
			event: "rabbitmq.json", fails: "rabbitmq record 1",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.RabbitMQ(x, handlers.RabbitMQHeader[order]("another"), place[events.RabbitMQMessage](s), &handlers.EventOptions{OnFailure: quiet})
			},
			runs: nil,
		},
		"ActiveMQ": {
			event: "activemq.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.ActiveMQ(x, nil, place[events.ActiveMQMessage](s), nil)
			},
			runs: map[string]int{"o0": 1, "o1": 1},
		},
		"ActiveMQ by a property": {
			event: "activemq.json",
			handler: func(x *idempotent.Executor, s *shop) any {
				return handlers.ActiveMQ(x, handlers.ActiveMQProperty[order]("order-id"), place[events.ActiveMQMessage](s), nil)
			},
			runs: map[string]int{"o0": 1, "o1": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s shop
			handler := test.handler(newExecutor(t, memory.New(0), nil), &s)
			for range 2 {
				answer, err := deliver(t.Context(), handler, golden(t, test.event))
				if test.fails != "" {
					check.Says(t, err, test.fails)
					continue
				}
				want := "null"
				if test.answer != "" {
					want = string(golden(t, test.answer))
				}
				check.Nil(t, err)
				check.Equal(t, answer, want)
			}
			s.check(t, test.runs)
		})
	}
}
