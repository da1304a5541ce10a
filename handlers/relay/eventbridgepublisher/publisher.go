// Package eventbridgepublisher publishes the messages of an outbox to a bus of
// EventBridge:
//
//	publish := eventbridgepublisher.New(eventbridge.NewFromConfig(cfg), "default", "com.example.orders")
//	lambda.Start(relay.Outbox(publish, &relay.Options{Mark: box.MarkAll}))
package eventbridgepublisher

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/internal/calls"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/outbound"
)

// maxBytes is the limit of a call, which must have less than 256 KiB.
const maxBytes = 256<<10 - 1

// Client is the part of EventBridge that a publisher calls. *eventbridge.Client
// implements it.
type Client interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// New returns a publisher to a bus, as events of the source. The detail is the body,
// which must be a JSON object, with the chain key as its last member. The detail-type is
// the Type. A message without a Type, or with further attributes, fails alone with a
// [*relay.UnsendableError], and one with any other body with a [*handlers.DetailError].
//
// A bus neither preserves the order nor drops duplicates. Its readers recognize them
// by the chain key.
//
// New panics with a [*driver.ConfigError] if the client is nil, or a name is empty.
func New(client Client, bus, source string) relay.Publisher {
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "eventbridgepublisher: the client is nil")
	mistakes.If(bus == "" || source == "", "eventbridgepublisher: the name of the bus or of the source is empty")
	mistakes.Panic()
	return calls.Publisher(maxBytes,
		func(m outbound.Message) (types.PutEventsRequestEntry, int, error) {
			detail, err := detailOf(m)
			return types.PutEventsRequestEntry{
				Detail: &detail, DetailType: &m.Type, EventBusName: &bus, Source: &source,
			}, len(detail) + len(m.Type) + len(source), err
		},
		func(ctx context.Context, entries []types.PutEventsRequestEntry, r calls.Results) error {
			out, err := client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
			if err != nil {
				return err
			}
			for i, e := range out.Entries { // in the order of the request
				switch {
				case e.ErrorCode != nil:
					r.Refused(calls.ID(i), e.ErrorCode, e.ErrorMessage, false)
				case aws.ToString(e.EventId) != "":
					r.Sent(calls.ID(i))
				}
			}
			return nil
		})
}

func detailOf(m outbound.Message) (string, error) {
	if m.Type == "" {
		return "", &relay.UnsendableError{Reason: "it has no type, which an event needs as its detail-type"}
	}
	for name := range m.Attributes {
		if name != handlers.ChainAttribute {
			return "", &relay.UnsendableError{Reason: "it has attributes, which an event cannot have; put them into the body"}
		}
	}
	detail, err := handlers.DetailWithChain(m.Body, calls.ChainKey(m))
	return string(detail), err
}
