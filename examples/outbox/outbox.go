// Package outbox publishes the messages of an outbox to SQS, SNS and
// EventBridge:
//
//	publish := outbox.Route(map[string]outbox.Publish{
//		"orders": outbox.SQS(sqs.NewFromConfig(cfg), queueURL),
//		"placed": outbox.SNS(sns.NewFromConfig(cfg), topicARN),
//		"audit":  outbox.EventBridge(eventbridge.NewFromConfig(cfg), "default", "com.example.orders"),
//	})
//	lambda.Start(handlers.OutboxRelay(publish, &handlers.OutboxOptions{Mark: mark}))
//
// A message that its destination can never take (no text, too many attributes)
// fails by itself, and is not sent: in a call with others it would fail all of
// them. Functions of this package are safe for concurrent use.
package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/handlers"
)

// Publish is what handlers.OutboxRelay takes.
type Publish = func(ctx context.Context, destination string, batch []handlers.OutboxMessage) (failed []error, err error)

// ErrDestination is the error of messages whose destination has no route. They
// stay in the outbox until it has one.
var ErrDestination = errors.New("outbox: the destination has no route")

// Route publishes by the destination's name.
func Route(routes map[string]Publish) Publish {
	return func(ctx context.Context, destination string, batch []handlers.OutboxMessage) ([]error, error) {
		publish, ok := routes[destination]
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrDestination, destination)
		}
		return publish(ctx, destination, batch)
	}
}

// ErrRefused marks errors of type [*EntryError].
var ErrRefused = errors.New("outbox: the message was refused")

// EntryError says that a call went through, and that this message of it did
// not.
type EntryError struct {
	Code string
	// Message is the service's, and may quote what it refuses.
	Message string
	// SenderFault is whether it will be refused again.
	SenderFault bool
}

func (e *EntryError) Error() string { return "outbox: the message was refused: " + e.Code }

// Is reports whether target is ErrRefused.
func (e *EntryError) Is(target error) bool { return target == ErrRefused }

// errNoAnswer is of a message that a call says nothing about. It may be out,
// and is published again.
var errNoAnswer = errors.New("outbox: the call does not say how the message fared")
