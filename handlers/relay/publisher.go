package relay

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Publisher publishes messages to one destination. It returns an error for all of
// them, or a list with one error for each message, nil if it is published; a nil
// list means that all are. It must be safe for concurrent use if Concurrency is more
// than 1. It may receive a message again, with the same ID.
//
// Packages sqspublisher, snspublisher and eventbridgepublisher publish to AWS.
type Publisher = func(ctx context.Context, destination string, batch []driver.OutboxMessage) (failed []error, err error)

// Route returns a Publisher that calls one of several, by the name of the destination.
// Messages of any other destination fail with a [*MessageError], and stay in the
// outbox until a relay knows it.
func Route(routes map[string]Publisher) Publisher {
	return func(ctx context.Context, destination string, batch []driver.OutboxMessage) ([]error, error) {
		if publish := routes[destination]; publish != nil {
			return publish(ctx, destination, batch)
		}
		return nil, &MessageError{Reason: fmt.Sprintf("the relay has no route to %q", destination), Permanent: true}
	}
}

// A MessageError reports a message that does not count as published. Further messages of its
// call may have been published.
type MessageError struct {
	// Reason is the code of a service that refused the message. Otherwise it says why the
	// message was not sent, or that the service returned no result for it.
	Reason string
	// Text is the service's own text. It may quote the message.
	Text string
	// Permanent reports whether the message would fail again. EventBridge does not say.
	Permanent bool
}

// Error does not contain Text.
func (e *MessageError) Error() string { return "relay: publishing the message failed: " + e.Reason }

// SafeText returns the whole text.
func (e *MessageError) SafeText() string { return e.Error() }
