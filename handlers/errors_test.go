package handlers_test

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

// ownErrors causes each error of the package: an invocation fails with it, or an
// option or an observer receives it.
var ownErrors = map[string]func(t *testing.T) error{
	"BatchError":     func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t, order{})) },
	"RecordError":    func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t, order{})) },
	"NoRecordsError": func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t)) },
	"DecodeError":    func(t *testing.T) error { return queued(t, fails, events.SQSMessage{MessageId: "m", Body: "null"}) },
	"ShapeError":     func(t *testing.T) error { return queued(t, fails, events.SQSMessage{MessageId: "m", Body: "null"}) },
	"NoIDError":      func(t *testing.T) error { return queued(t, fails, message("", order{})) },
	"NotStartedError": func(t *testing.T) error {
		return queued(t, fails, inGroups(batch{message("m0", order{}), message("m1", order{})}, "g")...)
	},
	"PanicError": func(t *testing.T) error {
		return queued(t, func() error { panic(&handlertest.DeclinedError{}) }, message("m", order{}))
	},
	"UnfinishedError": func(t *testing.T) error {
		return queued(t, func() error { runtime.Goexit(); return nil }, message("m", order{}))
	},
	"UnreadableError": func(t *testing.T) error {
		return queued(t, func() error { return (*url.Error)(nil) }, message("m", order{}))
	},
	"MarginError": func(t *testing.T) error {
		return notified(t, time.Second, &idempotent.Config{Margin: time.Minute}, snsEvent(t, order{}))
	},
	"OptionError": func(t *testing.T) error {
		var failures received
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil,
			func(context.Context, handlers.KinesisRecord[order]) error {
				return idempotent.Permanent(&handlertest.DeclinedError{})
			},
			&handlers.KinesisOptions{OnFailure: failures.Receive, Poison: func(context.Context, events.KinesisEventRecord, error) error { return &handlertest.DeclinedError{} }})
		if _, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{}))); err != nil {
			return err
		}
		return failures.Failed[0]
	},
	"DetailError": func(*testing.T) error {
		_, err := handlers.DetailWithChain([]byte("[]"), "k")
		return err
	},
}

func fails() error { return &handlertest.DeclinedError{} }

// queued is the failure of the last message of a queue.
func queued(t *testing.T, fn func() error, batch ...events.SQSMessage) error {
	var failures received
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[order]) error { return fn() },
		&handlers.SQSOptions{OnFailure: failures.Receive})
	_, err := handler(t.Context(), events.SQSEvent{Records: batch})
	if len(failures.Failed) == 0 {
		return err
	}
	return failures.Failed[len(failures.Failed)-1]
}

// notified is the failure of an invocation by a topic.
func notified(t *testing.T, timeout time.Duration, config *idempotent.Config, event []byte) error {
	_, err := deliver(within(t, timeout), handlers.SNS(newExecutor(t, memory.New(0), config), nil, func(context.Context, handlers.SNSMessage[order]) error { return fails() }, nil), event)
	return err
}

func TestEveryErrorHasAnExportedType(t *testing.T) { errortypes.CheckCauses(t, ownErrors) }

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
