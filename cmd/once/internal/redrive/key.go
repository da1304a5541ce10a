// Package redrive looks at the messages of a dead-letter queue beside their records, and moves
// those that a person has chosen.
package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/internal/jmespath"
)

const DefaultKey = "default"

type Settings struct{ Operation, Scope, Key, Body string }

// A Keyer finds the records of messages. It runs the handler of package handlers, as the
// functions do, on a store that only notes the claims. Code of its own would sooner or later
// compute different ids.
type Keyer struct {
	store  noting
	handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	failed error
}

var bodies = map[string]func(*Keyer, *idempotent.Executor, Settings){
	"json": build[json.RawMessage], "text": build[string], "s3": build[handlers.FromS3],
	"sns": build[handlers.FromSNS[json.RawMessage]], "eventbridge": build[handlers.FromEventBridge[json.RawMessage]],
}

var errBody = errors.New("--body is none of json, text, sns, eventbridge and s3")

func NewKeyer(s Settings) (*Keyer, error) {
	build := bodies[s.Body]
	if build == nil {
		return nil, errBody
	}
	if s.Key != DefaultKey && !strings.HasPrefix(s.Key, attribute) {
		if _, err := jmespath.Compile(jmespath.Exact, s.Key, true); err != nil {
			return nil, err
		}
	}
	k := &Keyer{}
	x, err := idempotent.New(s.Operation, &k.store, &idempotent.Config{Retention: 42 * 24 * time.Hour, Observer: idempotent.NoObserver{}})
	if err == nil {
		build(k, x, s)
	}
	return k, err
}

const attribute = "attribute:"

func build[T any](k *Keyer, x *idempotent.Executor, s Settings) {
	var key func(handlers.SQSMessage[T]) (idempotent.Key, error)
	if name, is := strings.CutPrefix(s.Key, attribute); is {
		key = handlers.SQSAttribute[T](name)
	} else if s.Key != DefaultKey {
		key = keypath.Path[handlers.SQSMessage[T]](s.Key)
	}
	if s.Scope != "" {
		key = idempotent.WithScope(key, idempotent.Field(func(handlers.SQSMessage[T]) string { return s.Scope }))
	}
	k.handle = handlers.SQS(x, key, func(context.Context, handlers.SQSMessage[T]) error { return nil }, &handlers.SQSOptions{
		OnFailure: func(_ context.Context, failed *handlers.RecordError) { k.failed = failed.Err },
	})
}

type key struct{ id, fingerprint string }

var errNoKey = errors.New("the function runs nothing for it")

func (k *Keyer) of(ctx context.Context, m events.SQSMessage) (key, error) {
	k.store.noted, k.failed = key{}, errNoKey
	if _, err := k.handle(ctx, events.SQSEvent{Records: []events.SQSMessage{m}}); err != nil {
		return key{}, err
	}
	if k.store.noted.id == "" {
		return key{}, k.failed
	}
	return k.store.noted, nil
}

type noting struct{ noted key }

func (s *noting) Create(_ context.Context, r driver.Record, _ time.Time, _ any) (driver.Record, bool, error) {
	s.noted = key{r.ID, r.Fingerprint}
	r.Status, r.Data = driver.Completed, []byte("null")
	return r, false, nil
}

func (s *noting) Change(context.Context, driver.Fence, driver.Change) (driver.Record, bool, error) {
	return driver.Record{}, false, driver.ErrNotWritten
}

func (s *noting) Get(context.Context, string) (driver.Record, error) { return driver.Record{}, nil }

func received(m types.Message) events.SQSMessage {
	e := events.SQSMessage{
		MessageId: *m.MessageId, Body: *m.Body, EventSource: "aws:sqs",
		Attributes: maps.Clone(m.Attributes), MessageAttributes: map[string]events.SQSMessageAttribute{},
	}
	delete(e.Attributes, "ApproximateReceiveCount")
	for name, a := range m.MessageAttributes {
		e.MessageAttributes[name] = events.SQSMessageAttribute{StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: *a.DataType}
	}
	return e
}

// replaced are the attributes that SQS sets for a message that is sent anew.
var replaced = []string{
	"ApproximateFirstReceiveTimestamp", "MessageDeduplicationId", "SenderId", "SentTimestamp", "SequenceNumber",
}

// anew returns a message as a function would receive it once it has moved.
func anew(m events.SQSMessage) events.SQSMessage {
	m.MessageId, m.Attributes = "moved", maps.Clone(m.Attributes)
	for _, name := range replaced {
		if _, has := m.Attributes[name]; has {
			m.Attributes[name] = "1"
		}
	}
	return m
}
