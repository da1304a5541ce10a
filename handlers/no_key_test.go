package handlers_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// keyless delivers a message whose body, a T, has no key, and returns its error.
func keyless[T any](t *testing.T, event []byte) error {
	t.Helper()
	var failures received
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), func(handlers.SQSMessage[T]) (idempotent.Key, error) { return idempotent.Key{}, nil },
		func(context.Context, handlers.SQSMessage[T]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: failures.Receive})
	_, err := deliver(t.Context(), handler, event)
	check.Must(t, err)
	check.Is(t, failures.Failed[0], idempotent.ErrMissingKey)
	return failures.Failed[0]
}

func TestMissingKeySaysWhatTheBodyIs(t *testing.T) {
	misspelt := message("m0", order{})
	misspelt.Body = `{"orderId":"o0"}`
	notification := golden(t, "sqs-from-sns.json")
	var wrapped events.SQSEvent
	check.Must(t, json.Unmarshal(notification, &wrapped))
	var inner map[string]any
	check.Must(t, json.Unmarshal([]byte(wrapped.Records[0].Body), &inner))
	inner["Message"] = misspelt.Body
	wrapped.Records[0].Body = string(marshal(t, inner))
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"no member of the type":       {keyless[order](t, sqsEvent(t, misspelt)), "zero value of handlers_test.order: compare"},
		"the same, in a notification": {keyless[handlers.FromSNS[order]](t, marshal(t, wrapped)), "zero value of handlers_test.order: compare"},
		"a notification as a map":     {keyless[map[string]any](t, notification), "SNS notification: use FromSNS"},
		"a notification as a text":    {keyless[string](t, notification), "SNS notification: use FromSNS"},
	} {
		check.Says(t, test.err, test.says, name)
	}
	complete := keyless[order](t, sqsEvent(t, message("m0", order{Fail: true})))
	check.Equal(t, check.As[*idempotent.MissingKeyError](t, complete).Reason, "")
}

// The error is another call's.
func TestMissingKeyOfTheHandlersOwnCallIsNotExplained(t *testing.T) {
	var failures received
	x := newExecutor(t, memory.New(0), nil)
	handler := handlers.SQS(x, nil, func(ctx context.Context, _ handlers.SQSMessage[order]) error {
		_, err := idempotent.Do(ctx, x, idempotent.Key{}, func(context.Context) (int, error) { return 0, nil })
		return err
	}, &handlers.SQSOptions{OnFailure: failures.Receive})
	reports(t, t.Context(), handler, batch{message("m0", order{})}, "m0")
	check.Equal(t, check.As[*idempotent.MissingKeyError](t, failures.Failed[0].Err).Reason, "")
}
