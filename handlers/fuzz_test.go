package handlers_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

// FuzzBatchEvent sends every handler malformed events. None panics. Orders always
// fail, so every delivery is reported or fails the invocation, and every reported
// id is the event's.
func FuzzBatchEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		text := golden(f, filepath.Base(file))
		f.Add(text)
		for _, broken := range [][2]string{{`"messageId": "`, `"messageID": 1, "x": "`}, {`"body"`, `"Body2"`}, {`"kinesis"`, `"x"`}, {`"value"`, `"v"`}, {`"data": "`, `"data": "*`}, {`"dynamodb"`, `"d"`}, {`"Sns"`, `"S"`}, {`"orders-0"`, `"-"`}} {
			if changed := strings.ReplaceAll(string(text), broken[0], broken[1]); changed != string(text) {
				f.Add([]byte(changed))
			}
		}
	}
	f.Add([]byte(`{"Records":[null,null],"records":{"a":[null],"b":null},"messages":[null],"rmqMessagesByQueue":{"q":[null]}}`))
	f.Add([]byte(`{"Records":[{"messageId":"m","body":"` + strings.Repeat("a", 1<<20) + `"}]}`))

	x := newExecutor(f, memory.New(0), nil)
	all := map[string]any{
		"sqs":         handlers.SQS(x, nil, refuse[handlers.SQSMessage[json.RawMessage]], &handlers.SQSOptions{OnFailure: quiet}),
		"one group":   handlers.SQS(x, nil, refuse[handlers.SQSMessage[[]byte]], &handlers.SQSOptions{OnFailure: quiet, StopGroups: true}),
		"sns in sqs":  handlers.SQS(x, nil, refuse[handlers.SQSMessage[handlers.FromSNS[order]]], &handlers.SQSOptions{OnFailure: quiet}),
		"s3 in sqs":   handlers.SQS(x, nil, refuse[handlers.SQSMessage[handlers.FromS3]], &handlers.SQSOptions{OnFailure: quiet}),
		"bus in sqs":  handlers.SQS(x, nil, refuse[handlers.SQSMessage[handlers.FromEventBridge[order]]], &handlers.SQSOptions{OnFailure: quiet}),
		"kinesis":     handlers.Kinesis(x, nil, refuse[handlers.KinesisRecord[order]], &handlers.KinesisOptions{OnFailure: quiet, Concurrency: 2}),
		"dynamodb":    handlers.DynamoDBStream(x, nil, refuse[events.DynamoDBEventRecord], &handlers.DynamoDBStreamOptions{OnFailure: quiet, Concurrency: 2}),
		"kafka":       handlers.Kafka(x, nil, refuse[handlers.KafkaRecord[[]byte]], &handlers.KafkaOptions{OnFailure: quiet}),
		"sns":         handlers.SNS(x, nil, refuse[handlers.SNSMessage[string]], &handlers.EventOptions{OnFailure: quiet}),
		"eventbridge": handlers.EventBridge(x, nil, refuse[handlers.EventBridgeEvent[order]], &handlers.EventOptions{OnFailure: quiet}),
		"s3":          handlers.S3(x, nil, refuse[events.S3EventRecord], &handlers.EventOptions{OnFailure: quiet}),
		"rabbitmq":    handlers.RabbitMQ(x, handlers.RabbitMQHeader[json.RawMessage]("order-id"), refuse[handlers.RabbitMQMessage[json.RawMessage]], &handlers.EventOptions{OnFailure: quiet}),
		"activemq":    handlers.ActiveMQ(x, nil, refuse[handlers.ActiveMQMessage[[]byte]], &handlers.EventOptions{OnFailure: quiet}),
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		for name, handler := range all {
			answer, err := deliver(t.Context(), handler, event)
			if err != nil {
				continue
			}
			if strings.Contains(string(event), "s3:TestEvent") && strings.HasPrefix(name, "s3") {
				continue // the one event that is rightly done
			}
			var response struct {
				BatchItemFailures []struct {
					ItemIdentifier any `json:"itemIdentifier"`
				} `json:"batchItemFailures"`
			}
			if json.Unmarshal([]byte(answer), &response) != nil || len(response.BatchItemFailures) == 0 {
				t.Fatalf("%s: every record failed, and the answer is %s", name, answer)
			}
			for _, failure := range response.BatchItemFailures {
				if id, ok := failure.ItemIdentifier.(string); ok && id == "" {
					t.Fatalf("%s: an empty id in %s", name, answer)
				}
			}
		}
	})
}

func refuse[D any](context.Context, D) error { return errOutOfStock }
