package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

var (
	continuesFrom = handlertest.ContinuesFrom
	deliver       = handlertest.Deliver
	golden        = handlertest.Golden
	isLine        = handlertest.IsLine
	logged        = handlertest.Logged
	marshal       = handlertest.Marshal
	newExecutor   = handlertest.Executor
	quiet         = handlertest.Quiet
	streamAnswer  = handlertest.StreamAnswer
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

// byID is a key function of every source whose body is an order.
func byID[E any](d handlers.Delivery[E, order]) (idempotent.Key, error) {
	return idempotent.Key{ID: d.Body.ID}, nil
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
	return marshal(t, events.SQSEvent{Records: messages})
}

// reportedIDs returns the ids in a response to SQS.
func reportedIDs(t testing.TB, answer string) []string {
	t.Helper()
	var response events.SQSEventResponse
	check.Must(t, json.Unmarshal([]byte(answer), &response), answer)
	if response.BatchItemFailures == nil {
		t.Fatalf("%s: the list is missing, which counts as success", answer)
	}
	ids := []string{}
	for _, f := range response.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

type (
	received = handlertest.Received
	batch    = []events.SQSMessage
)

// within returns a context that ends after a time.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// reports delivers messages to the handler of a queue, which must report those with
// the ids, as in "m1 m2".
func reports(t testing.TB, ctx context.Context, handler any, messages batch, ids string, about ...any) {
	t.Helper()
	answer, err := deliver(ctx, handler, sqsEvent(t, messages...))
	check.Must(t, err, about...)
	check.Slice(t, reportedIDs(t, answer), strings.Fields(ids), about...)
}

// allAre checks that each failure is or wraps an error.
func allAre(t testing.TB, failures *received, want error) {
	t.Helper()
	for _, f := range failures.Failed {
		check.Is(t, f, want)
	}
}

// inGroups makes messages those of a FIFO queue, in the groups in turn.
func inGroups(messages batch, groups ...string) batch {
	for i := range messages {
		messages[i].EventSourceARN += ".fifo"
		messages[i].Attributes = map[string]string{"MessageGroupId": groups[i%len(groups)]}
	}
	return messages
}

// intercepted is a store whose calls go through a function, which makes the call, or
// does not, and returns its error.
type intercepted struct {
	driver.Store
	around func(ctx context.Context, o storeCall, call func() error) error
}

// storeCall is a call of Create, Change or Get.
type storeCall struct {
	op, id string
	change driver.Change
}

func (s intercepted) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (met driver.Record, ok bool, _ error) {
	err := s.around(ctx, storeCall{op: "claim", id: r.ID}, func() (err error) {
		met, ok, err = s.Store.Create(ctx, r, cutoff, with)
		return err
	})
	return met, ok && err == nil, err
}

func (s intercepted) Change(ctx context.Context, f driver.Fence, c driver.Change) (met driver.Record, ok bool, _ error) {
	err := s.around(ctx, storeCall{"change", f.ID, c}, func() (err error) {
		met, ok, err = s.Store.Change(ctx, f, c)
		return err
	})
	return met, ok && err == nil, err
}

func (s intercepted) Get(ctx context.Context, id string) (r driver.Record, _ error) {
	err := s.around(ctx, storeCall{op: "read", id: id}, func() (err error) {
		r, err = s.Store.Get(ctx, id)
		return err
	})
	return r, err
}

// hung is a store that never answers calls of which hangs reports true.
func hung(store driver.Store, hangs func(o storeCall) bool) driver.Store {
	return intercepted{store, func(ctx context.Context, o storeCall, call func() error) error {
		if hangs(o) {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return call()
	}}
}

// hungFor is a store that never answers calls for one record.
func hungFor(id string) driver.Store {
	return hung(memory.New(0), func(o storeCall) bool { return o.id == id })
}
