package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
)

var (
	deliver      = handlertest.Deliver
	golden       = handlertest.Golden
	logged       = handlertest.Logged
	marshal      = handlertest.Marshal
	newExecutor  = handlertest.Executor
	quiet        = handlertest.Quiet
	streamAnswer = handlertest.StreamAnswer
)

// order is the body of the golden events.
type order struct {
	ID    string `json:"id"`
	Fail  bool   `json:"fail,omitempty"`
	Never bool   `json:"never,omitempty"` // fails permanently
	Panic bool   `json:"panic,omitempty"`
}

// shop counts how often each order was placed.
type shop struct {
	mu   sync.Mutex
	runs map[string]int
}

var errOutOfStock = errors.New("out of stock")

func (s *shop) place(o order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs = map[string]int{}
	}
	s.runs[o.ID]++
	switch {
	case o.Panic:
		panic("no such shelf")
	case o.Never:
		return idempotent.Permanent(errOutOfStock)
	case o.Fail:
		return errOutOfStock
	}
	return nil
}

func (s *shop) placed() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.runs)
}

func (s *shop) check(t *testing.T, want map[string]int) {
	t.Helper()
	if got := s.placed(); !maps.Equal(got, want) {
		t.Errorf("runs %v, want %v", got, want)
	}
}

// place handles deliveries of every source whose body is an order.
func place[E any](s *shop) func(context.Context, handlers.Delivery[E, order]) error {
	return func(_ context.Context, d handlers.Delivery[E, order]) error { return s.place(d.Body) }
}

// message is one of a batch made in a test.
func message(id string, o order) events.SQSMessage {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return events.SQSMessage{MessageId: id, ReceiptHandle: "handle of " + id, Body: string(body), EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:orders"}
}

func sqsEvent(t testing.TB, messages ...events.SQSMessage) []byte {
	t.Helper()
	text, err := json.Marshal(events.SQSEvent{Records: messages})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// reportedIDs returns the ids in a response to SQS.
func reportedIDs(t testing.TB, answer string) []string {
	t.Helper()
	var response events.SQSEventResponse
	if err := json.Unmarshal([]byte(answer), &response); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	if response.BatchItemFailures == nil {
		t.Fatalf("%s: the list is missing, which counts as success", answer)
	}
	ids := []string{}
	for _, f := range response.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

type received = handlertest.Received
