package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

type attributes = map[string]events.DynamoDBAttributeValue

// TestOutboxMalformedItems: each is reported by its sequence number, shows
// nothing of what is in it, and holds up what follows it in its aggregate.
func TestOutboxMalformedItems(t *testing.T) {
	s, n := events.NewStringAttribute, events.NewNumberAttribute
	for name, damage := range map[string]func(r *events.DynamoDBEventRecord, image, first attributes){
		"no image":                   func(r *events.DynamoDBEventRecord, image, first attributes) { r.Change.NewImage = nil },
		"another aggregate":          func(r *events.DynamoDBEventRecord, image, first attributes) { image["aggregate"] = s("secret") },
		"no creation":                func(r *events.DynamoDBEventRecord, image, first attributes) { delete(image, "created") },
		"a creation of text":         func(r *events.DynamoDBEventRecord, image, first attributes) { image["created"] = s("1763700000123") },
		"a creation with a fraction": func(r *events.DynamoDBEventRecord, image, first attributes) { image["created"] = n("1763700000.123") },
		"an empty list": func(r *events.DynamoDBEventRecord, image, first attributes) {
			image["messages"] = events.NewListAttribute([]events.DynamoDBAttributeValue{})
		},
		"another message's id":    func(r *events.DynamoDBEventRecord, image, first attributes) { first["id"] = s("secret-1") },
		"attributes that are one": func(r *events.DynamoDBEventRecord, image, first attributes) { first["attributes"] = s("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			event := outboxEvent("b:q", "a:q", "a:q", "b:q")
			image := event.Records[1].Change.NewImage
			damage(&event.Records[1], image, image["messages"].List()[0].Map())
			failures, p := &handlertest.Received{}, mailbox{}
			continuesFrom(t, t.Context(), relay.Outbox(p.publish, &relay.Options{OnFailure: failures.Receive}), event, "seq1")
			check.Slice(t, p.out, []string{"item0-0", "item3-0"})
			check.Equal(t, len(failures.Failed), 2)
			check.Is(t, failures.Failed[0], handlers.ErrDecode)
			check.Says(t, failures.Failed[0], "is missing, or not in")
			check.Lacks(t, fmt.Sprint(failures.Failed), "secret")
		})
	}
}

func TestOutboxOtherSources(t *testing.T) {
	var p mailbox
	handler := relay.Outbox(p.publish, p.options())
	for _, event := range []string{`{}`, `{"Records":[]}`, `{"Records":[{"eventSource":"aws:sqs"}]}`} {
		_, err := handlertest.Deliver(t.Context(), handler, []byte(event))
		check.Is(t, err, handlers.ErrNoRecords, event)
	}
	event := outboxEvent("a:q", "b:q")
	event.Records[1].Change.SequenceNumber = ""
	_, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, event))
	check.Says(t, err, "outbox record 1: ", "no sequence number")
}

// FuzzOutbox sends the relay malformed events. It does not
// panic, publishes nothing that it cannot name, and nothing twice.
func FuzzOutbox(f *testing.F) {
	f.Add(handlertest.Golden(f, "outbox.json"))
	f.Add(handlertest.Golden(f, "../../testdata/dynamodb-stream.json"))
	f.Add(handlertest.Marshal(f, outboxEvent("a:q,q", "b:r", "a:q")))
	f.Add([]byte(strings.ReplaceAll(string(handlertest.Golden(f, "outbox.json")), `{"S"`, `{"N"`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var event events.DynamoDBEvent
		if json.Unmarshal(text, &event) != nil {
			return
		}
		places := 0
		for _, r := range event.Records {
			if list := r.Change.NewImage["messages"]; list.DataType() == events.DataTypeList && !list.IsNull() {
				places += len(list.List())
			}
		}
		calls := 0
		handler := relay.Outbox(func(_ context.Context, destination string, batch []driver.OutboxMessage) ([]error, error) {
			for _, m := range batch {
				calls++
				if m.ID == "" || m.Aggregate == "" || m.Destination != destination || destination == "" || m.Attributes[handlers.ChainAttribute] == "" {
					t.Errorf("published %q", m)
				}
			}
			return nil, nil
		}, &relay.Options{OnFailure: handlertest.Quiet})
		answer, err := handler(t.Context(), event)
		check.True(t, calls <= places, calls, places, answer, err)
	})
}
