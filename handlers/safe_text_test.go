package handlers_test

import (
	"errors"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// What a handler or an option wrote is in no safe text.
func TestSafeTextQuotesNoHandler(t *testing.T) {
	own := errors.New("secret")
	record := &handlers.RecordError{Source: "sqs", Index: 1, ID: "m1", Err: own}
	for want, err := range map[string]error{
		"handlers: sqs record 1 (m1): *errors.errorString":                                                    record,
		"handlers: 1 failed, and none succeeded":                                                              &handlers.BatchError{Failed: []*handlers.RecordError{record}, Reason: "none succeeded"},
		"*errors.errorString; and the option Poison failed: handlers: the body is not JSON":                   &handlers.OptionError{Option: "Poison", Record: own, Err: &handlers.DecodeError{Type: "JSON", Err: own}},
		"*handlers.PanicError":                                                                                &handlers.PanicError{Value: "secret"},
		"handlers: the body is not JSON":                                                                      &handlers.DecodeError{Type: "JSON", Err: own},
		"relay: the item is published but may not be marked: it then stays in the outbox and does not expire": &relay.UnmarkedError{Err: own},
	} {
		check.Equal(t, idempotent.SafeText(err), want)
	}
}
