package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// The innermost event is the one that happened.
func TestInnermostIDIsTheKey(t *testing.T) {
	s3, n := string(golden(t, "s3.json")), 0
	notification := func(i int) string {
		return string(marshal(t, map[string]any{"Type": "Notification", "MessageId": fmt.Sprint("n", i), "Message": s3, "Timestamp": "2026-08-01T00:00:00.000Z"}))
	}
	queue := func(i int) []byte {
		m := message(fmt.Sprint("m", i), order{})
		m.Body = notification(i)
		return sqsEvent(t, m)
	}
	topic := func(i int) []byte {
		return marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: fmt.Sprint("n", i), Message: s3}}}})
	}
	fanned := func(i int) []byte {
		return []byte(strings.ReplaceAll(string(golden(t, "sqs-from-sns.json")), "000000a0-0000", fmt.Sprint("000000a0-000", i)))
	}
	x := newExecutor(t, memory.New(0), nil)
	for name, test := range map[string]struct {
		handler any
		event   func(i int) []byte
	}{
		"S3 in SNS in SQS": {handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[handlers.FromSNS[handlers.FromS3]]) error { n++; return nil }, nil), queue},
		"S3 in SNS":        {handlers.SNS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SNSMessage[handlers.FromS3]) error { n++; return nil }, nil), topic},
		"by a pointer":     {handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[*handlers.FromSNS[order]]) error { n++; return nil }, nil), fanned},
	} {
		n = 0
		for i := range 2 {
			if answer, err := deliver(t.Context(), test.handler, test.event(i)); err != nil || strings.Contains(answer, "itemIdentifier") {
				t.Errorf("%s: %s, %v", name, answer, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d runs", name, n)
		}
	}
}

// Only a message that is itself a test event is skipped.
func TestS3TestEventInsideAnotherBodyRuns(t *testing.T) {
	n := 0
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[struct {
		Order        string
		Notification *handlers.FromS3
	}]) error {
		n++
		return nil
	}, nil)
	m := message("m0", order{})
	m.Body = `{"Order":"pay me","Notification":{"Event":"s3:TestEvent"}}`
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, m)); err != nil || n != 1 {
		t.Errorf("%s, %v, %d runs", answer, err, n)
	}
}

func TestRawDeliveryIsNoEnvelope(t *testing.T) {
	failures := &received{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[handlers.FromSNS[order]]) error {
		t.Error("ran")
		return nil
	}, &handlers.SQSOptions{OnFailure: failures.Receive})
	answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"})))
	if err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.Failed[0], handlers.ErrDecode) {
		t.Errorf("%s, %v, received %v", answer, err, failures.Failed)
	}
}

// Without raw delivery, a body is an envelope in which an order has no field.
func TestEnvelopeIsNoBody(t *testing.T) {
	failures := &received{}
	x := newExecutor(t, memory.New(0), nil)
	refused := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: failures.Receive})
	answer, err := deliver(t.Context(), refused, golden(t, "sqs-from-sns.json"))
	if err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.Failed[0], handlers.ErrDecode) || !strings.Contains(failures.Failed[0].Error(), "FromSNS") {
		t.Errorf("%s, %v, received %v", answer, err, failures.Failed)
	}
	runs := 0
	for name, asked := range map[string]any{
		"the envelope": handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[events.SNSEntity]) error { runs++; return nil }, nil),
		"its text":     handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[string]) error { runs++; return nil }, nil),
		"a map":        handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[map[string]any]) error { runs++; return nil }, nil),
	} {
		if answer, err := deliver(t.Context(), asked, golden(t, "sqs-from-sns.json")); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs", runs)
	}
}

// SNS that sends twice makes two queue messages with one notification.
func TestInnerIDIsTheKey(t *testing.T) {
	s := &shop{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(_ context.Context, m handlers.SQSMessage[handlers.FromSNS[order]]) error {
		return s.place(m.Body.Body)
	}, nil)
	text := golden(t, "sqs-from-sns.json")
	again := []byte(strings.ReplaceAll(string(text), "000000a0-0000", "000000ff-0000"))
	for _, event := range [][]byte{text, again} {
		if answer, err := deliver(t.Context(), handler, event); err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
	}
	s.check(t, map[string]int{"o0": 1})
}

// strict is a body whose decoder fails with an error that means something else
// elsewhere.
type strict struct{}

func (*strict) UnmarshalJSON([]byte) error { return &idempotent.MissingKeyError{Part: "id"} }

func TestDecodersErrorIsNoMissingKey(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	handler := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[strict]) error { t.Error("ran"); return nil }, &handlers.SQSOptions{OnFailure: quiet})
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{}))); err != nil || len(reportedIDs(t, answer)) != 1 {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestNullIsNoEnvelope(t *testing.T) {
	failures := &received{}
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[*handlers.FromSNS[string]]) error {
		t.Error("ran")
		return nil
	}, &handlers.SQSOptions{OnFailure: failures.Receive})
	m := message("m0", order{})
	m.Body = "null"
	if answer, err := deliver(t.Context(), handler, sqsEvent(t, m)); err != nil || len(reportedIDs(t, answer)) != 1 || !errors.Is(failures.Failed[0], handlers.ErrDecode) {
		t.Errorf("%s, %v, received %v", answer, err, failures.Failed)
	}
}
