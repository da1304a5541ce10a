package redrive

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

type order struct {
	ID     string `json:"orderId"`
	Number int64  `json:"number"`
}

// A watched store notes what a function claims.
type watched struct {
	driver.Store
	claimed key
}

func (w *watched) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	w.claimed = key{r.ID, r.Fingerprint}
	return w.Store.Create(ctx, r, cutoff, with)
}

// function runs a message as a function does, and returns what it claims.
func function[T any](fn func(handlers.SQSMessage[T]) (idempotent.Key, error)) func(*testing.T, events.SQSMessage) key {
	return func(t *testing.T, m events.SQSMessage) key {
		t.Helper()
		w := &watched{Store: memory.New(0)}
		x, err := idempotent.New("pay", w, &idempotent.Config{Retention: 28 * 24 * time.Hour})
		check.Must(t, err)
		ran := 0
		handle := handlers.SQS(x, fn, func(context.Context, handlers.SQSMessage[T]) error { ran++; return nil }, nil)
		answer, err := handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{m}})
		check.Must(t, err)
		check.Equal(t, len(answer.BatchItemFailures), 0)
		check.Equal(t, ran, 1)
		return w.claimed
	}
}

// Each row is a function, and the flags with which an operator names its key. stays reports
// whether the key is still the same when the message is sent anew.
func TestKeysAreThoseOfTheFunction(t *testing.T) {
	const plain = `{"orderId":"order-1","number":9007199254740993}`
	const notification = `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-central-1:1:t","Message":"{\"orderId\":\"order-2\"}","Timestamp":"2026-08-01T00:00:00.000Z"}`
	const event = `{"version":"0","id":"e-1","detail-type":"Placed","source":"shop","time":"2026-08-01T00:00:00Z","detail":{"orderId":"order-3"}}`
	const s3 = `{"Records":[{"eventSource":"aws:s3","awsRegion":"eu-central-1","eventTime":"2026-08-01T00:00:00.000Z","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"0A"}}}]}`
	for name, c := range map[string]struct {
		body     string
		function func(*testing.T, events.SQSMessage) key
		settings Settings
		stays    bool
	}{
		"id of the message": {plain, function[order](nil), Settings{Key: DefaultKey, Body: "json"}, false},
		"field":             {plain, function(idempotent.Field(func(m handlers.SQSMessage[order]) string { return m.Body.ID })), Settings{Key: "body.orderId", Body: "json"}, true},
		"number":            {plain, function(keypath.Path[handlers.SQSMessage[order]]("body.number")), Settings{Key: "body.number", Body: "json"}, true},
		"attribute":         {plain, function(handlers.SQSAttribute[order]("tenant")), Settings{Key: "attribute:tenant", Body: "json"}, true},
		"of any text":       {"no JSON", function(handlers.SQSAttribute[string]("tenant")), Settings{Key: "attribute:tenant", Body: "text"}, true},
		"with a scope": {plain, function(func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			return idempotent.Key{Scope: "ada", ID: m.Body.ID}, nil
		}), Settings{Key: "body.orderId", Scope: "ada", Body: "json"}, true},
		"topic":         {notification, function[handlers.FromSNS[order]](nil), Settings{Key: DefaultKey, Body: "sns"}, true},
		"in a topic":    {notification, function(keypath.Path[handlers.SQSMessage[handlers.FromSNS[order]]]("body.body.orderId")), Settings{Key: "body.body.orderId", Body: "sns"}, true},
		"rule":          {event, function[handlers.FromEventBridge[order]](nil), Settings{Key: DefaultKey, Body: "eventbridge"}, true},
		"bucket":        {s3, function[handlers.FromS3](nil), Settings{Key: DefaultKey, Body: "s3"}, true},
		"deduplication": {plain, function(keypath.Path[handlers.SQSMessage[order]]("source.attributes.MessageDeduplicationId")), Settings{Key: "source.attributes.MessageDeduplicationId", Body: "json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := events.SQSMessage{
				MessageId: "m-1", EventSource: "aws:sqs", Body: c.body,
				Attributes:        map[string]string{"MessageDeduplicationId": "d-1", "SentTimestamp": "1785542400000"},
				MessageAttributes: map[string]events.SQSMessageAttribute{"tenant": {StringValue: new("t-1"), DataType: "String"}},
			}
			c.settings.Operation = "pay"
			k, err := NewKeyer(c.settings)
			check.Must(t, err)
			got, err := k.of(t.Context(), m)
			check.Must(t, err)
			check.Equal(t, got, c.function(t, m))
			moved, err := k.of(t.Context(), anew(m))
			check.Must(t, err)
			check.Equal(t, moved == got, c.stays, "the key stays the same")
			check.Equal(t, moved, c.function(t, anew(m)))
		})
	}
}

// A chain key is the key of a nil key function, together with the body.
func TestChainKeyIsTheKey(t *testing.T) {
	k, err := NewKeyer(Settings{Operation: "pay", Key: DefaultKey, Body: "json"})
	check.Must(t, err)
	m := events.SQSMessage{
		MessageId: "m-1", EventSource: "aws:sqs", Body: `{"orderId":"order-1"}`,
		MessageAttributes: map[string]events.SQSMessageAttribute{handlers.ChainAttribute: {StringValue: new("c-1"), DataType: "String"}},
	}
	got, err := k.of(t.Context(), m)
	check.Must(t, err)
	check.Equal(t, got, function[order](nil)(t, m))
	check.Differ(t, got.fingerprint, "")
	moved, err := k.of(t.Context(), anew(m))
	check.Must(t, err)
	check.Equal(t, moved, got)
}

func TestMessageWithoutAKeySaysWhy(t *testing.T) {
	for want, s := range map[string]Settings{
		"its id, body.orderId": {Key: "body.orderId", Body: "json"},
		"not an event of":      {Key: DefaultKey, Body: "sns"},
		"no idempotency key":   {Key: "attribute:tenant", Body: "json"},
		"runs nothing for it":  {Key: DefaultKey, Body: "s3"},
	} {
		s.Operation = "pay"
		k, err := NewKeyer(s)
		check.Must(t, err)
		_, err = k.of(t.Context(), events.SQSMessage{MessageId: "m-1", EventSource: "aws:sqs", Body: `{"Event":"s3:TestEvent"}`})
		check.Says(t, err, want)
	}
}
