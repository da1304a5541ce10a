package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The innermost event is the one that happened: SNS that sends twice makes two queue
// messages with one notification.
func TestInnermostIDIsTheKey(t *testing.T) {
	s3, n := string(golden(t, "s3.json")), 0
	notification := func(i int) string {
		return string(marshal(t, map[string]any{"Type": "Notification", "MessageId": fmt.Sprint("n", i), "Message": s3, "Timestamp": "2026-08-01T00:00:00.000Z"}))
	}
	queue := func(i int) []byte { return sqsEvent(t, bodied(fmt.Sprint("m", i), notification(i))) }
	topic := func(i int) []byte {
		return marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: fmt.Sprint("n", i), Message: s3}}}})
	}
	fanned := func(i int) []byte {
		return []byte(strings.ReplaceAll(string(golden(t, "sqs-from-sns.json")), "000000a0-0000", fmt.Sprint("000000a0-000", i)))
	}
	for name, test := range map[string]struct {
		handler any
		event   func(i int) []byte
	}{
		"S3 in SNS in SQS": {counting[handlers.FromSNS[handlers.FromS3]](t, &n), queue},
		"S3 in SNS":        {handlers.SNS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SNSMessage[handlers.FromS3]) error { n++; return nil }, nil), topic},
		"SNS in SQS":       {counting[handlers.FromSNS[order]](t, &n), fanned},
		"by a pointer":     {counting[*handlers.FromSNS[order]](t, &n), fanned},
	} {
		n = 0
		for i := range 2 {
			answer, err := deliver(t.Context(), test.handler, test.event(i))
			check.Nil(t, err, name)
			check.Lacks(t, answer, "itemIdentifier", name)
		}
		check.Equal(t, n, 1, name)
	}
}

// bodied is a message with any body.
func bodied(id, body string) events.SQSMessage {
	m := message(id, order{})
	m.Body = body
	return m
}

// counting is a queue's function that counts its runs.
func counting[T any](t *testing.T, runs *int) any {
	return handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[T]) error { *runs++; return nil }, nil)
}

// Only a message that is itself a test event is skipped.
func TestS3TestEventInsideAnotherBodyRuns(t *testing.T) {
	n := 0
	handler := counting[struct {
		Order        string
		Notification *handlers.FromS3
	}](t, &n)
	reports(t, t.Context(), handler, batch{bodied("m0", `{"Order":"pay me","Notification":{"Event":"s3:TestEvent"}}`)}, "")
	check.Equal(t, n, 1)
}

// refused delivers an event to a queue's function, which must report a body that does
// not decode, and returns the error.
func refused[T any](t *testing.T, config *idempotent.Config, event []byte) error {
	t.Helper()
	failures := &received{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), config), nil, func(context.Context, handlers.SQSMessage[T]) error { t.Error("ran"); return nil },
		&handlers.SQSOptions{OnFailure: failures.Receive})
	answer, err := deliver(t.Context(), handler, event)
	check.Must(t, err)
	check.Equal(t, len(reportedIDs(t, answer)), 1)
	allAre(t, failures, handlers.ErrDecode)
	return failures.Failed[0]
}

func TestRawDeliveryIsNoEnvelope(t *testing.T) {
	refused[handlers.FromSNS[order]](t, nil, sqsEvent(t, message("m0", order{ID: "o0"})))
}

func TestNullIsNoEnvelope(t *testing.T) {
	refused[*handlers.FromSNS[string]](t, nil, sqsEvent(t, bodied("m0", "null")))
}

// Without raw delivery, a body is an envelope in which an order has no field.
func TestEnvelopeIsNoBody(t *testing.T) {
	event, runs := golden(t, "sqs-from-sns.json"), 0
	check.Says(t, refused[order](t, nil, event), "FromSNS")
	for name, asked := range map[string]any{
		"the envelope": counting[events.SNSEntity](t, &runs), "its text": counting[string](t, &runs), "a map": counting[map[string]any](t, &runs),
	} {
		answer, err := deliver(t.Context(), asked, event)
		check.Nil(t, err, name)
		check.Equal(t, len(reportedIDs(t, answer)), 0, name)
	}
	check.Equal(t, runs, 3)
}

// strict is a body whose decoder fails with an error that means something else
// elsewhere.
type strict struct{}

func (*strict) UnmarshalJSON([]byte) error { return &idempotent.MissingKeyError{Part: "id"} }

func TestDecodersErrorIsNoMissingKey(t *testing.T) {
	refused[strict](t, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey}, sqsEvent(t, message("m0", order{})))
}
