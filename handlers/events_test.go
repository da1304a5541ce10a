package handlers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func snsEvent(t testing.TB, orders ...order) []byte {
	t.Helper()
	var event events.SNSEvent
	for i, o := range orders {
		event.Records = append(event.Records, events.SNSEventRecord{SNS: events.SNSEntity{MessageID: fmt.Sprintf("n%d", i), Message: string(marshal(t, o))}})
	}
	return marshal(t, event)
}

// Where a source takes no report of single records, the retry of all runs
// those that are left.
func TestOneFailedRecordFailsTheEvent(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		s := &shop{}
		handler := handlers.SNS(newExecutor(t, memory.New(0), nil), nil, place[events.SNSEventRecord](s), &handlers.EventOptions{Concurrency: concurrency, OnFailure: quiet})
		event := snsEvent(t, order{ID: "o0"}, order{ID: "o1", Fail: true}, order{ID: "o2"}, order{ID: "o3", Never: true})
		for range 3 {
			_, err := deliver(t.Context(), handler, event)
			check.Says(t, err, "sns record 1 (n1)")
			check.Says(t, err, "sns record 3 (n3)")
			check.Lacks(t, err.Error(), "record 0")
		}
		s.check(t, map[string]int{"o0": 1, "o1": 3, "o2": 1, "o3": 1})
	}
}

// Lambda reports an error by its type, and so does a replay.
func TestEventBridgeErrorTypes(t *testing.T) {
	handler := handlers.EventBridge(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.EventBridgeEvent[order]) error {
		return idempotent.Permanent(&handlertest.DeclinedError{Code: "51"})
	}, &handlers.EventOptions{OnFailure: quiet})
	if _, err := deliver(t.Context(), handler, golden(t, "eventbridge.json")); fmt.Sprintf("%T", err) != "*handlertest.DeclinedError" {
		t.Errorf("first: %T", err)
	}
	_, err := deliver(t.Context(), handler, golden(t, "eventbridge.json"))
	replayed := check.As[messages.InvokeResponse_Error](t, err)
	check.Equal(t, replayed.Type, "DeclinedError")
	check.Equal(t, replayed.Message, "declined 51")
}

// An event of another source must not pass for one that is done.
func TestEventsWithoutRecordsFail(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	s := &shop{}
	for name, handler := range map[string]any{
		"sqs":      handlers.SQS(x, nil, place[events.SQSMessage](s), nil),
		"sns":      handlers.SNS(x, nil, place[events.SNSEventRecord](s), nil),
		"s3":       handlers.S3(x, nil, func(context.Context, events.S3EventRecord) error { return nil }, nil),
		"kinesis":  handlers.Kinesis(x, nil, place[events.KinesisEventRecord](s), nil),
		"dynamodb": handlers.DynamoDBStream(x, nil, func(context.Context, events.DynamoDBEventRecord) error { return nil }, nil),
		"kafka":    handlers.Kafka(x, nil, place[events.KafkaRecord](s), nil),
		"rabbitmq": handlers.RabbitMQ(x, byID, place[events.RabbitMQMessage](s), nil),
		"activemq": handlers.ActiveMQ(x, nil, place[events.ActiveMQMessage](s), nil),
	} {
		for _, event := range []string{`{}`, `null`, `{"Records":null}`, `{"messages":[],"rmqMessagesByQueue":{"orders::/":[]}}`, `{"detail-type":"Order Placed"}`} {
			_, err := deliver(t.Context(), handler, []byte(event))
			check.Is(t, err, handlers.ErrNoRecords, name, event)
		}
	}
	bridge := handlers.EventBridge(x, nil, place[events.EventBridgeEvent](s), &handlers.EventOptions{OnFailure: quiet})
	for _, event := range []string{`{}`, `null`, `{"detail":{"id":"o"}}`, `{"id":"e","detail":null}`} {
		_, err := deliver(t.Context(), bridge, []byte(event))
		check.Failed(t, err, event)
	}
	s.check(t, nil)
}

func TestMistakesAreReportedTogether(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	handlertest.CheckMistakes(t, func() {
		handlers.SQS[order](nil, nil, nil, &handlers.SQSOptions{Concurrency: -1, Unrecorded: -1})
	}, "the executor is nil", "the handler is nil", "Concurrency is -1", "Unrecorded is -1")
	handlertest.CheckMistakes(t, func() {
		handlers.RabbitMQ(x, nil, place[events.RabbitMQMessage](&shop{}), &handlers.EventOptions{Concurrency: -1})
	}, "the key function is nil", "Concurrency is -1")
	handlertest.CheckMistakes(t, func() {
		handlers.Kafka(x, nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{Unrecorded: -1})
	}, "Unrecorded is -1")
	handlertest.CheckMistakes(t, func() { handlers.Invoke[order, order](nil, nil, nil) }, "the executor is nil", "the key function is nil", "the handler is nil")
}

// A Kinesis event has fields that a DynamoDB stream's has.
func TestEventOfAnotherSourceFails(t *testing.T) {
	handler := handlers.DynamoDBStream(newExecutor(t, memory.New(0), nil), nil, func(context.Context, events.DynamoDBEventRecord) error { t.Error("ran"); return nil }, nil)
	_, err := deliver(t.Context(), handler, golden(t, "kinesis.json"))
	check.Is(t, err, handlers.ErrNoRecords)
}

// Tags of one version of an object can change several times, and their events
// have no sequencer.
func TestS3EventsWithoutSequencerDiffer(t *testing.T) {
	n := 0
	handler := handlers.S3(newExecutor(t, memory.New(0), nil), nil, func(context.Context, events.S3EventRecord) error { n++; return nil }, &handlers.EventOptions{OnFailure: quiet})
	tagged := func(request string) []byte {
		return []byte(`{"Records":[{"eventSource":"aws:s3","eventTime":"2026-08-01T00:00:00.000Z","eventName":"ObjectTagging:Put","responseElements":{` + request + `},"s3":{"bucket":{"name":"b"},"object":{"key":"k","eTag":"e","versionId":"v1"}}}]}`)
	}
	for _, request := range []string{"R1", "R2", "R1", "R2"} {
		_, err := deliver(t.Context(), handler, tagged(`"x-amz-request-id":"`+request+`"`))
		check.Must(t, err)
	}
	check.Equal(t, n, 2)
	_, err := deliver(t.Context(), handler, tagged(""))
	check.Is(t, err, idempotent.ErrMissingKey, "one that is the same as another")
}
