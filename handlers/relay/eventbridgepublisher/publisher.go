// Package eventbridgepublisher publishes the messages of an outbox to EventBridge.
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
)

// Client is the part of EventBridge that a publisher calls: an *eventbridge.Client.
type Client interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// New returns a publisher to a bus, as events of the source. The detail is the body,
// which must be a JSON object, with the chain key as its last member. The detail-type is
// the Type. A message without a Type, or with further attributes, fails alone with a
// [*relay.MessageError], and one with any other body with a [*handlers.DetailError].
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
	return calls.Publisher(func(_ string, m driver.OutboxMessage) (types.PutEventsRequestEntry, int, error) {
		others := len(m.Attributes) > 1 || len(m.Attributes) == 1 && m.Attributes[handlers.ChainAttribute] == ""
		if m.Type == "" || others {
			return types.PutEventsRequestEntry{}, 0, &relay.MessageError{Reason: "an event needs a type, and cannot have attributes; put them into the body", Permanent: true}
		}
		detail, err := handlers.DetailWithChain(m.Body, calls.ChainKey(m))
		return types.PutEventsRequestEntry{Detail: aws.String(string(detail)), DetailType: &m.Type, EventBusName: &bus, Source: &source},
			len(detail) + len(m.Type) + len(source), err
	}, func(ctx context.Context, ids []string, entries []types.PutEventsRequestEntry, failed map[string]error) error {
		out, err := client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
		if err != nil {
			return err
		}
		for i, e := range out.Entries { // in the order of the request
			switch {
			case e.ErrorCode != nil:
				failed[ids[i]] = &relay.MessageError{Reason: aws.ToString(e.ErrorCode), Text: aws.ToString(e.ErrorMessage)}
			case aws.ToString(e.EventId) != "":
				delete(failed, ids[i])
			}
		}
		return nil
	})
}
