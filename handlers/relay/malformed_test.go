package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/outbound"
)

// TestOutboxMalformedItems: each is reported by its sequence number, shows
// nothing of what is in it, and holds up what follows it in its aggregate.
func TestOutboxMalformedItems(t *testing.T) {
	s, n := events.NewStringAttribute, events.NewNumberAttribute
	for name, damage := range map[string]func(r *events.DynamoDBEventRecord, image, first map[string]events.DynamoDBAttributeValue){
		"no image": func(r *events.DynamoDBEventRecord, _, _ map[string]events.DynamoDBAttributeValue) {
			r.Change.NewImage = nil
		},
		"no aggregate": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			delete(image, "aggregate")
		},
		"another aggregate": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["aggregate"] = s("secret")
		},
		"no id": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["id"] = n("7")
		},
		"no creation": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			delete(image, "created")
		},
		"a creation of text": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["created"] = s("1763700000123")
		},
		"a creation with a fraction": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["created"] = n("1763700000.123")
		},
		"a creation below zero": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["created"] = n("-1")
		},
		"no messages": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["messages"] = s("secret")
		},
		"an empty list": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["messages"] = events.NewListAttribute([]events.DynamoDBAttributeValue{})
		},
		"a message that is text": func(_ *events.DynamoDBEventRecord, image, _ map[string]events.DynamoDBAttributeValue) {
			image["messages"] = events.NewListAttribute([]events.DynamoDBAttributeValue{s("secret")})
		},
		"another message's id": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			first["id"] = s("secret-1")
		},
		"no destination": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			first["destination"] = s("")
		},
		"no type": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			delete(first, "type")
		},
		"a body of text": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			first["body"] = s("secret")
		},
		"no body": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			delete(first, "body")
		},
		"attributes that are one": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			first["attributes"] = s("secret")
		},
		"an attribute of no text": func(_ *events.DynamoDBEventRecord, _, first map[string]events.DynamoDBAttributeValue) {
			first["attributes"] = events.NewMapAttribute(map[string]events.DynamoDBAttributeValue{"secret": n("7")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			event := outboxEvent("b:q", "a:q", "a:q", "b:q")
			image := event.Records[1].Change.NewImage
			damage(&event.Records[1], image, image["messages"].List()[0].Map())
			failures, p := &handlertest.Received{}, mailbox{}
			answer, err := handlertest.Deliver(t.Context(), relay.Outbox(p.publish, &relay.Options{OnFailure: failures.Receive}), handlertest.Marshal(t, event))
			if err != nil || answer != handlertest.StreamAnswer("seq1") {
				t.Errorf("%s, %v", answer, err)
			}
			same(t, "out", p.out, []string{"item0-0", "item3-0"})
			if len(failures.Failed) != 2 || !errors.Is(failures.Failed[0], handlers.ErrDecode) || !strings.Contains(failures.Failed[0].Error(), "is missing, or not in") ||
				strings.Contains(fmt.Sprint(failures.Failed), "secret") {
				t.Errorf("received %v", failures.Failed)
			}
		})
	}
}

func TestOutboxOtherSources(t *testing.T) {
	var p mailbox
	handler := relay.Outbox(p.publish, p.options())
	for _, event := range []string{`{}`, `{"Records":[]}`, `{"Records":[{"eventSource":"aws:sqs"}]}`} {
		if answer, err := handlertest.Deliver(t.Context(), handler, []byte(event)); !errors.Is(err, handlers.ErrNoRecords) {
			t.Errorf("%s: %s, %v", event, answer, err)
		}
	}
	event := outboxEvent("a:q", "b:q")
	event.Records[1].Change.SequenceNumber = ""
	if answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, event)); err == nil || !strings.Contains(err.Error(), "outbox record 1: ") {
		t.Errorf("no sequence number: %s, %v", answer, err)
	}
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
		handler := relay.Outbox(func(_ context.Context, destination string, batch []outbound.Message) ([]error, error) {
			for _, m := range batch {
				calls++
				if m.ID == "" || m.Aggregate == "" || m.Destination != destination || destination == "" || m.Attributes[handlers.ChainAttribute] == "" {
					t.Errorf("published %q", m)
				}
			}
			return nil, nil
		}, &relay.Options{OnFailure: handlertest.Quiet})
		answer, err := handler(t.Context(), event)
		if calls > places {
			t.Errorf("%d messages published of %d: %v, %v", calls, places, answer, err)
		}
	})
}
