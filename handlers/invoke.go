package handlers

import (
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/idempotent"
)

// reported gives a replayed error the type under which Lambda has reported it
// the first time: Step Functions and destinations go by it.
func reported(err error) error {
	if replayed, ok := err.(*idempotent.ReplayedError); ok { // one that is wrapped is a handler's own
		return messages.InvokeResponse_Error{Type: replayed.Type, Message: replayed.Message}
	}
	return err
}
