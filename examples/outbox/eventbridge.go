package outbox

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/outbound"
)

// EventBridgeClient is the part of the EventBridge client that [EventBridge] uses.
type EventBridgeClient interface {
	PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, o ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

var (
	errNoType         = errors.New("outbox: the message has no type, which an event needs as its detail-type")
	errMoreAttributes = errors.New("outbox: the message has attributes, which an event cannot have: put them into its body")
)

// EventBridge returns a function that publishes to a bus, as events of the source.
// The detail is the body, which must be a JSON object, with the chain key as its last
// member. The detail-type is the Type.
//
// A bus neither preserves the order nor detects duplicates. Its readers detect them
// by the chain key.
func EventBridge(client EventBridgeClient, bus, source string) Publish {
	return func(ctx context.Context, _ string, batch []outbound.Message) ([]error, error) {
		return calls(ctx, batch,
			func(m outbound.Message) (types.PutEventsRequestEntry, int, error) {
				if m.Type == "" {
					return types.PutEventsRequestEntry{}, 0, errNoType
				}
				for name := range m.Attributes {
					if name != handlers.ChainAttribute {
						return types.PutEventsRequestEntry{}, 0, errMoreAttributes
					}
				}
				detail, err := handlers.DetailWithChain(m.Body, chainKey(m))
				return types.PutEventsRequestEntry{
					Detail: aws.String(string(detail)), DetailType: &m.Type, EventBusName: &bus, Source: &source,
				}, len(detail) + len(m.Type) + len(source), err
			},
			func(ctx context.Context, entries []types.PutEventsRequestEntry) ([]error, error) {
				out, err := client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
				if err != nil {
					return nil, err
				}
				failed := make([]error, len(out.Entries)) // in the order of the request
				for i, e := range out.Entries {
					switch {
					case e.ErrorCode != nil:
						failed[i] = &EntryError{Code: *e.ErrorCode, Message: aws.ToString(e.ErrorMessage)}
					case e.EventId == nil:
						failed[i] = errNoAnswer
					}
				}
				return failed, nil
			}), nil
	}
}
