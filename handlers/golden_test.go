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
		answer  string         // a file; "" is an invocation without answer
		fails   string         // what the invocation's error names
		runs    map[string]int // after two deliveries
		handler func(*idempotent.Executor, *shop) any
	}{
		"SQS": {"sqs.json", "sqs.answer.json", "", map[string]int{"o0": 1, "o1": 2, "o2": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
		}},
		"SQS by an attribute": {"sqs.json", "sqs.answer.json", "", map[string]int{"o0": 1, "o1": 2, "o2": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, handlers.SQSAttribute[order]("order-id"), place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet})
		}},
		"SQS FIFO, all groups stop": {"sqs-fifo.json", "sqs-fifo-stop.answer.json", "", map[string]int{"o0": 1, "o1": 2}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, StopGroups: true, Concurrency: 8})
		}},
		"SQS FIFO": {"sqs-fifo.json", "sqs-fifo.answer.json", "", map[string]int{"o0": 1, "o1": 2, "o2": 1, "o4": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, nil, place[events.SQSMessage](s), &handlers.SQSOptions{OnFailure: quiet, Concurrency: 8})
		}},
		"SNS in SQS": {"sqs-from-sns.json", "none.answer.json", "", map[string]int{"o0": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[order]]) error {
				return s.place(m.Body.Body)
			}, nil)
		}},
		"EventBridge in SQS": {"sqs-from-eventbridge.json", "none.answer.json", "", map[string]int{"o0": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromEventBridge[order]]) error {
				return s.place(m.Body.Body)
			}, nil)
		}},
		"S3 in SQS, and its test event": {"sqs-from-s3.json", "none.answer.json", "", map[string]int{"in/order 0 ü.json": 1, "in/order 1.json": 1}, func(x *idempotent.Executor, s *shop) any {
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
		}},
		"SNS": {"sns.json", "", "", map[string]int{"o0": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SNS(x, nil, place[events.SNSEventRecord](s), nil)
		}},
		"SNS by an attribute": {"sns.json", "", "", map[string]int{"o0": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.SNS(x, handlers.SNSAttribute[order]("order-id"), place[events.SNSEventRecord](s), nil)
		}},
		"EventBridge": {"eventbridge.json", "", "", map[string]int{"o0": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.EventBridge(x, nil, place[events.EventBridgeEvent](s), nil)
		}},
		"S3": {"s3.json", "", "", map[string]int{"in/order 0 ü.json": 1, "in/order 1.json": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error {
				return s.place(order{ID: r.S3.Object.URLDecodedKey})
			}, nil)
		}},
		"the test event of S3": {"s3-test.json", "", "", nil, func(x *idempotent.Executor, s *shop) any {
			return handlers.S3(x, nil, func(_ context.Context, r events.S3EventRecord) error { return s.place(order{}) }, nil)
		}},
		"Kinesis": {"kinesis.json", "kinesis.answer.json", "", map[string]int{"o0": 1, "o1": 1, "o2": 2}, func(x *idempotent.Executor, s *shop) any {
			return handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), &handlers.KinesisOptions{OnFailure: quiet})
		}},
		"DynamoDB stream": {"dynamodb-stream.json", "dynamodb-stream.answer.json", "", map[string]int{"INSERT o0": 1, "MODIFY o1": 2}, func(x *idempotent.Executor, s *shop) any {
			return handlers.DynamoDBStream(x, nil, func(_ context.Context, r events.DynamoDBEventRecord) error {
				return s.place(order{ID: r.EventName + " " + r.Change.Keys["id"].String(), Fail: r.EventName == "MODIFY"})
			}, &handlers.DynamoDBStreamOptions{OnFailure: quiet})
		}},
		"MSK": {"kafka-msk.json", "kafka.answer.json", "", map[string]int{"o0": 1, "o1": 2, "o3": 1, "o4": 2}, func(x *idempotent.Executor, s *shop) any {
			return handlers.Kafka(x, nil, place[events.KafkaRecord](s), &handlers.KafkaOptions{OnFailure: quiet})
		}},
		"self-managed Kafka, by a header": {"kafka-self-managed.json", "kafka.answer.json", "", map[string]int{"o0": 1, "o1": 2, "o3": 1, "o4": 2}, func(x *idempotent.Executor, s *shop) any {
			return handlers.Kafka(x, handlers.KafkaHeader[order]("order-id"), place[events.KafkaRecord](s), &handlers.KafkaOptions{OnFailure: quiet, Concurrency: 8})
		}},
		"RabbitMQ by its message id": {"rabbitmq.json", "", "", map[string]int{"o0": 1, "o1": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.RabbitMQ(x, handlers.RabbitMQMessageID[order](), place[events.RabbitMQMessage](s), nil)
		}},
		"RabbitMQ by a header": {"rabbitmq.json", "", "", map[string]int{"o0": 1, "o1": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.RabbitMQ(x, handlers.RabbitMQHeader[order]("order-id"), place[events.RabbitMQMessage](s), nil)
		}},
		"RabbitMQ without its key": {"rabbitmq.json", "", "rabbitmq record 1", nil, func(x *idempotent.Executor, s *shop) any {
			return handlers.RabbitMQ(x, handlers.RabbitMQHeader[order]("another"), place[events.RabbitMQMessage](s), &handlers.EventOptions{OnFailure: quiet})
		}},
		"ActiveMQ": {"activemq.json", "", "", map[string]int{"o0": 1, "o1": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.ActiveMQ(x, nil, place[events.ActiveMQMessage](s), nil)
		}},
		"ActiveMQ by a property": {"activemq.json", "", "", map[string]int{"o0": 1, "o1": 1}, func(x *idempotent.Executor, s *shop) any {
			return handlers.ActiveMQ(x, handlers.ActiveMQProperty[order]("order-id"), place[events.ActiveMQMessage](s), nil)
		}},
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
