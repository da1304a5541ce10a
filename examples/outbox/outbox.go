// Package outbox publishes the messages of an outbox to SQS, SNS and
// EventBridge:
//
//	publish := outbox.Route(map[string]outbox.Publish{
//		"orders": outbox.SQS(sqs.NewFromConfig(cfg), queueURL),
//		"placed": outbox.SNS(sns.NewFromConfig(cfg), topicARN),
//		"audit":  outbox.EventBridge(eventbridge.NewFromConfig(cfg), "default", "com.example.orders"),
//	})
//	lambda.Start(relay.Outbox(publish, &relay.Options{Mark: mark}))
//
// A message that its destination can never accept (no text, too many attributes)
// fails alone and is not sent, because it would fail all messages of its call.
// Functions of this package are safe for concurrent use.
package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/outbound"
)

// Publish is the type of function that relay.Outbox calls.
type Publish = func(ctx context.Context, destination string, batch []outbound.Message) (failed []error, err error)

// ErrDestination reports that the destination of a message has no route. The message
// stays in the outbox until it has one.
var ErrDestination = errors.New("outbox: the destination has no route")

// Route returns a function that publishes by the name of the destination.
func Route(routes map[string]Publish) Publish {
	return func(ctx context.Context, destination string, batch []outbound.Message) ([]error, error) {
		publish, ok := routes[destination]
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrDestination, destination)
		}
		return publish(ctx, destination, batch)
	}
}

// ErrRefused matches every [*EntryError] in errors.Is.
var ErrRefused = errors.New("outbox: the message was refused")

// An EntryError reports that a call succeeded, but one of its messages was refused.
type EntryError struct {
	Code string
	// Message is the text of the service, which may quote the message.
	Message string
	// SenderFault reports whether the same message would be refused again.
	SenderFault bool
}

func (e *EntryError) Error() string { return "outbox: the message was refused: " + e.Code }

// Is reports whether target is ErrRefused.
func (e *EntryError) Is(target error) bool { return target == ErrRefused }

// errNoAnswer is the error of a message without a result. It may have been sent, and
// is published again.
var errNoAnswer = errors.New("outbox: no result for the message")
