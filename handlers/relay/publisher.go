package relay

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent/outbound"
)

// A Publisher publishes messages to one destination. [Outbox] says what it returns.
// No two messages of a batch have the same aggregate. Packages sqspublisher,
// snspublisher and eventbridgepublisher contain those of AWS.
type Publisher = func(ctx context.Context, destination string, batch []outbound.Message) (failed []error, err error)

// Route returns a Publisher that calls one of several, by the name of the destination.
// Messages of any other destination fail with an [*UnsendableError], and stay in the
// outbox until a relay knows it.
func Route(routes map[string]Publisher) Publisher {
	return func(ctx context.Context, destination string, batch []outbound.Message) ([]error, error) {
		publish, ok := routes[destination]
		if !ok {
			return nil, &UnsendableError{Reason: fmt.Sprintf("the relay has no route to %q", destination)}
		}
		return publish(ctx, destination, batch)
	}
}

// UnsendableError reports a message that was not sent, because its destination is
// unknown or can never accept it. Such a message would fail all others of its call.
type UnsendableError struct{ Reason string }

func (e *UnsendableError) Error() string { return "relay: the message was not sent: " + e.Reason }

// SafeText returns the whole text.
func (e *UnsendableError) SafeText() string { return e.Error() }

// RefusedError reports a message that the service refused, in a call that succeeded
// for others.
type RefusedError struct {
	Code string
	// Message is the text of the service, which may quote the message.
	Message string
	// SenderFault reports whether the service would refuse the message again.
	// EventBridge does not say.
	SenderFault bool
}

// Error does not contain Message.
func (e *RefusedError) Error() string { return "relay: the service refused the message: " + e.Code }

// SafeText returns the whole text.
func (e *RefusedError) SafeText() string { return e.Error() }

// UnansweredError reports a message without a result in the answer of the service. It
// may have been sent, and is sent again.
type UnansweredError struct{}

func (e *UnansweredError) Error() string {
	return "relay: the service returned no result for the message"
}

// SafeText returns the whole text.
func (e *UnansweredError) SafeText() string { return e.Error() }
