package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

var errFull = errors.New("the queue is full")

func checkRelay(t *testing.T, p *mailbox, event events.DynamoDBEvent, want string) {
	t.Helper()
	continuesFrom(t, t.Context(), relay.Outbox(p.publish, p.options()), event, want)
}

func TestOutboxGoldenEvent(t *testing.T) {
	type sent struct {
		destination string
		driver.OutboxMessage
	}
	var all []sent
	var p mailbox
	handler := relay.Outbox(func(_ context.Context, destination string, batch []driver.OutboxMessage) ([]error, error) {
		for _, m := range batch {
			all = append(all, sent{destination, m})
		}
		return nil, nil
	}, p.options())
	for range 2 { // the second time, nothing is left
		continuesFrom(t, t.Context(), handler, json.RawMessage(handlertest.Golden(t, "outbox.json")), "")
	}
	const one, two = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
	want := []sent{
		{"orders", driver.OutboxMessage{ID: one + "-0", Aggregate: "order-1", Destination: "orders", Type: "placed", Body: []byte(`{"id":"o1"}`),
			Attributes: map[string]string{"tenant": "ada", "once_key": one + "-0"}}},
		{"orders", driver.OutboxMessage{ID: two + "-0", Aggregate: "order-2", Destination: "orders", Type: "placed", Body: []byte(`{"id":"o2"}`),
			Attributes: map[string]string{"once_key": two + "-0"}}},
		{"mails", driver.OutboxMessage{ID: one + "-1", Aggregate: "order-1", Destination: "mails", Body: []byte{},
			Attributes: map[string]string{"once_key": "0123456789abcdef0123456789abcdef:mail"}}},
	}
	check.Equal(t, fmt.Sprintf("%q", all), fmt.Sprintf("%q", want))
	check.Slice(t, p.marked, []string{"order-2/" + two, "order-1/" + one, "order-1/" + one, "order-2/" + two}, "marked")
}

// Messages of one aggregate go out one after the other, also to different
// destinations and over several items; those of others fill the batches.
func TestOutboxOrderAndBatches(t *testing.T) {
	var p mailbox
	o := p.options()
	o.BatchSize = 2
	handler := relay.Outbox(p.publish, o)
	continuesFrom(t, t.Context(), handler, outboxEvent("a:q1,q1,q2", "b:q1", "c:q1", "a:q1", "d:q2"), "")
	check.Slice(t, p.calls, []string{
		"q1: item0-0 item1-0", "q1: item2-0", "q2: item4-0",
		"q1: item0-1", "q2: item0-2", "q1: item3-0",
	}, "calls")
	check.Slice(t, p.marked, []string{"b/item1", "c/item2", "d/item4", "a/item0", "a/item3"}, "marked")
}

// A failure stops its aggregate and no other. The first item that is not
// out is reported, in the order of the stream and not of the failures. An item counts as
// published when all of its messages are.
func TestOutboxFailures(t *testing.T) {
	p := mailbox{fail: map[string]error{"item1-1": errFull, "item4-0": errFull}}
	event := outboxEvent("a:q", "b:q,q,q", "b:q", "a:q", "d:q", "d:q", "c:q")
	checkRelay(t, &p, event, "seq1")
	check.Slice(t, p.out, []string{"item0-0", "item1-0", "item6-0", "item3-0"}, "out")
	check.Slice(t, p.marked, []string{"a/item0", "c/item6", "a/item3"}, "marked")

	// Another process takes over, and knows of nothing: the ids are the same.
	p.fail, p.out = nil, nil
	event.Records = event.Records[1:]
	checkRelay(t, &p, event, "")
	check.Slice(t, p.out, []string{"item1-0", "item3-0", "item4-0", "item6-0", "item1-1", "item5-0", "item1-2", "item2-0"}, "out")
}

func TestOutboxRemembersWhatItPublished(t *testing.T) {
	p := mailbox{fail: map[string]error{"item0-1": errFull}}
	handler := relay.Outbox(p.publish, p.options())
	event := outboxEvent("a:q,q", "b:q")
	for _, want := range []string{"seq0", "seq0", ""} {
		if want == "" {
			p.fail = nil
		}
		continuesFrom(t, t.Context(), handler, event, want)
	}
	check.Slice(t, p.out, []string{"item0-0", "item1-0", "item0-1"}, "out")
	// A later call with the same key writes the item again, with the same ids,
	// and it is to go out again.
	for i := range event.Records {
		event.Records[i].EventID, event.Records[i].EventName = fmt.Sprint("later", i), "MODIFY"
	}
	p.out = nil
	continuesFrom(t, t.Context(), handler, event, "")
	check.Slice(t, p.out, []string{"item0-0", "item1-0", "item0-1"}, "out")
}

func TestOutboxWholeCallsFail(t *testing.T) {
	for name, publish := range map[string]func(context.Context, string, []driver.OutboxMessage) ([]error, error){
		"an error": func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return nil, errFull },
		"an error, too": func(context.Context, string, []driver.OutboxMessage) ([]error, error) {
			return make([]error, 2), errFull
		},
		"a list too short": func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return []error{nil}, nil },
		"an empty list":    func(context.Context, string, []driver.OutboxMessage) ([]error, error) { return []error{}, nil },
		"a panic":          func(context.Context, string, []driver.OutboxMessage) ([]error, error) { panic("secret") },
		"a typed nil": func(context.Context, string, []driver.OutboxMessage) ([]error, error) {
			return []error{(*os.PathError)(nil), (*os.PathError)(nil)}, nil
		},
		"the end of its goroutine": func(context.Context, string, []driver.OutboxMessage) ([]error, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			failures, p := &handlertest.Received{}, mailbox{}
			handler := relay.Outbox(publish, &relay.Options{Mark: p.mark, OnFailure: failures.Receive})
			continuesFrom(t, t.Context(), handler, outboxEvent("a:q", "b:q", "a:q"), "seq0")
			check.Slice(t, p.marked, nil)
			check.Equal(t, len(failures.Failed), 3)
			check.Is(t, failures.Failed[2], handlers.ErrNotStarted)
			check.Says(t, failures.Failed[1], "handlers: outbox record 1 (seq1): ")
		})
	}
}

// Nothing is published again because it could not be marked, and nothing stops
// for it.
func TestOutboxMarkFails(t *testing.T) {
	for name, mark := range map[string]func(context.Context, []driver.OutboxKey) error{
		"error": func(context.Context, []driver.OutboxKey) error { return errFull },
		"panic": func(context.Context, []driver.OutboxKey) error { panic("secret") },
		"exit":  func(context.Context, []driver.OutboxKey) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var p mailbox
			failures := &handlertest.Received{}
			handler := relay.Outbox(p.publish, &relay.Options{Mark: mark, OnFailure: failures.Receive})
			continuesFrom(t, t.Context(), handler, outboxEvent("a:q", "b:q,q"), "")
			check.Slice(t, p.out, []string{"item0-0", "item1-0", "item1-1"}, "out")
			check.Equal(t, len(failures.Failed), 2)
			check.Is(t, failures.Failed[0], relay.ErrUnmarked)
			check.Equal(t, check.As[*relay.UnmarkedError](t, failures.Failed[1]).Key, driver.OutboxKey{Aggregate: "b", ID: "item1", Created: writtenAt(1)})
			check.Lacks(t, fmt.Sprint(failures.Failed), "secret")
		})
	}
}

// A call that is made again writes over its item: what is marked is the one
// whose messages are out.
func TestOutboxMarksWhatItHasRead(t *testing.T) {
	event := outboxEvent("a:q", "a:q")
	event.Records[1] = event.Records[0]
	second := &event.Records[1]
	second.EventID, second.EventName, second.Change.SequenceNumber = "e1", "MODIFY", "seq1"
	second.Change.NewImage = maps.Clone(second.Change.NewImage)
	second.Change.NewImage["created"] = millis(writtenAt(1))
	var marked []driver.OutboxKey
	handler := relay.Outbox((&mailbox{}).publish, &relay.Options{Mark: func(_ context.Context, keys []driver.OutboxKey) error {
		marked = append(marked, keys...)
		return nil
	}})
	continuesFrom(t, t.Context(), handler, event, "")
	check.Slice(t, marked, []driver.OutboxKey{{Aggregate: "a", ID: "item0", Created: writtenAt(0)}, {Aggregate: "a", ID: "item0", Created: writtenAt(1)}})
}

func TestOutboxOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mailbox{before: func(string) { time.Sleep(2 * time.Second) }}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		handler := relay.Outbox(p.publish, p.options())
		continuesFrom(t, ctx, handler, outboxEvent("a:q,q", "b:q", "a:q,q,q", "c:q"), "seq2")
		check.Slice(t, p.out, []string{"item0-0", "item1-0", "item3-0", "item0-1", "item2-0"}, "out")
		check.Slice(t, p.marked, []string{"b/item1", "c/item3", "a/item0"}, "marked")
	})
}

func TestOutboxConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mailbox{before: func(string) { time.Sleep(time.Second) }}
		o := p.options()
		o.Concurrency = 3
		begun := time.Now()
		continuesFrom(t, t.Context(), relay.Outbox(p.publish, o), outboxEvent("a:q1", "b:q2", "c:q3", "a:q3", "b:q1"), "")
		check.Equal(t, time.Since(begun), 2*time.Second)
		check.Equal(t, len(p.out), 5)
	})
}

func TestOutboxReportsAllMistakes(t *testing.T) {
	handlertest.CheckMistakes(t, func() { relay.Outbox(nil, &relay.Options{BatchSize: -1, Concurrency: -1}) },
		"the publishing function is nil", "BatchSize is -1", "Concurrency is -1")
}

// Otherwise the invocation times out, and the next process publishes everything again.
func TestAMarkThatHangsEndsBeforeTheInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var p mailbox
		var failures handlertest.Received
		handler := relay.Outbox(p.publish, &relay.Options{OnFailure: failures.Receive, Mark: func(ctx context.Context, _ []driver.OutboxKey) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		continuesFrom(t, ctx, handler, outboxEvent("a:q"), "")
		check.Nil(t, ctx.Err())
		check.Is(t, failures.Failed[0], relay.ErrUnmarked)
	})
}

// It remembers 10,000 messages, so that it does not grow for the life of its process. The
// one before them is published again.
func TestOutboxForgetsTheOldestMessage(t *testing.T) {
	var p mailbox
	handler := relay.Outbox(p.publish, p.options())
	items := make([]string, 10_001)
	for i := range items {
		items[i] = fmt.Sprint("a", i, ":q")
	}
	event := outboxEvent(items...)
	for _, c := range []struct {
		records []events.DynamoDBEventRecord
		out     int
	}{{event.Records, 10_001}, {event.Records[1:], 10_001}, {event.Records[:1], 10_002}} {
		_, err := handler(t.Context(), events.DynamoDBEvent{Records: c.records})
		check.Must(t, err)
		check.Equal(t, len(p.out), c.out)
	}
}
