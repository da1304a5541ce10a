package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// TestMalformedEvents: the invocation, or the option OnFailure, names the
// record, and its text shows nothing of what is in it.
func TestMalformedEvents(t *testing.T) {
	failures := &received{}
	x := newExecutor(t, memory.New(0), nil)
	sqs := handlers.SQS(x, nil, place[events.SQSMessage](&shop{}), &handlers.SQSOptions{OnFailure: failures.Receive})
	sns := handlers.SNS(x, nil, place[events.SNSEventRecord](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
	kinesis := handlers.Kinesis(x, nil, place[events.KinesisEventRecord](&shop{}), &handlers.KinesisOptions{OnFailure: failures.Receive})
	dynamodb := handlers.DynamoDBStream(x, nil, func(context.Context, events.DynamoDBEventRecord) error { return nil }, &handlers.DynamoDBStreamOptions{OnFailure: failures.Receive})
	kafka := handlers.Kafka(x, nil, place[events.KafkaRecord](&shop{}), &handlers.KafkaOptions{OnFailure: failures.Receive})
	rabbitmq := handlers.RabbitMQ(x, handlers.RabbitMQMessageID[order](), place[events.RabbitMQMessage](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
	activemq := handlers.ActiveMQ(x, nil, place[events.ActiveMQMessage](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
	s3 := handlers.S3(x, nil, func(context.Context, events.S3EventRecord) error { return nil }, &handlers.EventOptions{OnFailure: failures.Receive})
	bridge := handlers.EventBridge(x, nil, place[events.EventBridgeEvent](&shop{}), &handlers.EventOptions{OnFailure: failures.Receive})
	const fine = `{"messageId":"m","body":"{\"id\":\"o\"}"}`
	megabyte := strings.Repeat("secret", 1<<20/6)

	for name, test := range map[string]struct {
		handler any
		event   string
		names   string
	}{
		"sqs: null":                 {sqs, `{"Records":[` + fine + `,null]}`, "sqs record 1: "},
		"sqs: no body":              {sqs, `{"Records":[` + fine + `,{"messageId":"m1"}]}`, "sqs record 1 (m1): "},
		"sqs: no id":                {sqs, `{"Records":[{"body":"{\"id\":\"o\"}"}]}`, "sqs record 0: "},
		"sqs: 1 MB":                 {sqs, `{"Records":[{"messageId":"m1","body":"` + megabyte + `"}]}`, "sqs record 0 (m1): "},
		"sqs: another type":         {sqs, `{"Records":[{"messageId":"m1","body":"{\"id\":[\"secret\"]}"}]}`, "sqs record 0 (m1): "},
		"sns: null":                 {sns, `{"Records":[null]}`, "sns record 0: "},
		"sns: no message":           {sns, `{"Records":[{"Sns":{"MessageId":"n1"}}]}`, "sns record 0 (n1): "},
		"kinesis: null":             {kinesis, `{"Records":[null]}`, "kinesis record 0: "},
		"kinesis: no data":          {kinesis, `{"Records":[{"eventID":"e","eventSourceARN":"arn","kinesis":{"sequenceNumber":"7"}}]}`, "kinesis record 0 (7): "},
		"kinesis: no stream":        {kinesis, `{"Records":[{"eventID":"e","kinesis":{"sequenceNumber":"7","data":"e30="}}]}`, "kinesis record 0 (7): "},
		"dynamodb: null":            {dynamodb, `{"Records":[null]}`, "dynamodb stream record 0: "},
		"dynamodb: no event id":     {dynamodb, `{"Records":[{"eventSourceARN":"arn","dynamodb":{"SequenceNumber":"7"}}]}`, "dynamodb stream record 0 (7): "},
		"kafka: null":               {kafka, `{"eventSourceArn":"arn","records":{"t-0":[null]}}`, "kafka record 0: "},
		"kafka: wrong base64":       {kafka, `{"eventSourceArn":"arn","records":{"t-0":[{"topic":"t","partition":0,"offset":3,"value":"secret!"}]}}`, "kafka record 0 (t-0@3): "},
		"kafka: no cluster":         {kafka, `{"records":{"t-0":[{"topic":"t","partition":0,"offset":3,"value":"e30="}]}}`, "kafka record 0 (t-0@3): "},
		"rabbitmq: null":            {rabbitmq, `{"rmqMessagesByQueue":{"q":[null]}}`, "rabbitmq record 0: "},
		"rabbitmq: wrong base64":    {rabbitmq, `{"rmqMessagesByQueue":{"q":[{"basicProperties":{"messageId":"secret"},"data":"secret!"}]}}`, "rabbitmq record 0: "},
		"activemq: null":            {activemq, `{"eventSourceArn":"arn","messages":[null]}`, "activemq record 0: "},
		"activemq: wrong base64":    {activemq, `{"eventSourceArn":"arn","messages":[{"messageID":"ID:1","data":"secret!"}]}`, "activemq record 0 (ID:1): "},
		"s3: null":                  {s3, `{"Records":[null]}`, "s3 record 0: "},
		"s3: neither version, etag": {s3, `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"secret"}}}]}`, "s3 record 0: "},
		"eventbridge: no detail":    {bridge, `{"id":"e1"}`, "eventbridge record 0 (e1): "},
	} {
		t.Run(name, func(t *testing.T) {
			failures.Failed = nil
			answer, err := deliver(t.Context(), test.handler, []byte(test.event))
			check.Equal(t, strings.Count(answer, "itemIdentifier") == 1, err == nil, answer)
			check.Equal(t, len(failures.Failed), 1)
			texts := fmt.Sprint(failures.Failed[0], err)
			check.Contains(t, texts, test.names)
			check.Lacks(t, texts, "secret")
			check.True(t, len(texts) <= 1000, len(texts))
		})
	}
}

// keyless delivers a message whose body, a T, has no key, and returns its error.
func keyless[T any](t *testing.T, event []byte) error {
	t.Helper()
	var failures received
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), func(handlers.SQSMessage[T]) (idempotent.Key, error) { return idempotent.Key{}, nil },
		func(context.Context, handlers.SQSMessage[T]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: failures.Receive})
	_, err := deliver(t.Context(), handler, event)
	check.Must(t, err)
	check.Is(t, failures.Failed[0], idempotent.ErrMissingKey)
	return failures.Failed[0]
}

func TestMissingKeySaysWhatTheBodyIs(t *testing.T) {
	misspelt := bodied("m0", `{"orderId":"o0"}`)
	notification := golden(t, "sqs-from-sns.json")
	var wrapped events.SQSEvent
	check.Must(t, json.Unmarshal(notification, &wrapped))
	var inner map[string]any
	check.Must(t, json.Unmarshal([]byte(wrapped.Records[0].Body), &inner))
	inner["Message"] = misspelt.Body
	wrapped.Records[0].Body = string(marshal(t, inner))
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"no member of the type":       {keyless[order](t, sqsEvent(t, misspelt)), "zero value of handlers_test.order: compare"},
		"the same, in a notification": {keyless[handlers.FromSNS[order]](t, marshal(t, wrapped)), "zero value of handlers_test.order: compare"},
		"a notification as a map":     {keyless[map[string]any](t, notification), "SNS notification: use FromSNS"},
		"a notification as a text":    {keyless[string](t, notification), "SNS notification: use FromSNS"},
	} {
		check.Says(t, test.err, test.says, name)
	}
	complete := keyless[order](t, sqsEvent(t, message("m0", order{Fail: true})))
	check.Equal(t, check.As[*idempotent.MissingKeyError](t, complete).Reason, "")
}

// The error is another call's.
func TestMissingKeyOfTheHandlersOwnCallIsNotExplained(t *testing.T) {
	var failures received
	x := newExecutor(t, memory.New(0), nil)
	handler := handlers.SQS(x, nil, func(ctx context.Context, _ handlers.SQSMessage[order]) error {
		_, err := idempotent.Do(ctx, x, idempotent.Key{}, func(context.Context) (int, error) { return 0, nil })
		return err
	}, &handlers.SQSOptions{OnFailure: failures.Receive})
	reports(t, t.Context(), handler, batch{message("m0", order{})}, "m0")
	check.Equal(t, check.As[*idempotent.MissingKeyError](t, failures.Failed[0].Err).Reason, "")
}
