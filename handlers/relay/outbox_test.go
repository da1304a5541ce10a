package relay_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/outbound"
)

var errFull = errors.New("the queue is full")

func checkRelay(t *testing.T, p *mailbox, event events.DynamoDBEvent, want string) {
	t.Helper()
	answer, err := handlertest.Deliver(t.Context(), relay.Outbox(p.publish, p.options()), handlertest.Marshal(t, event))
	if err != nil || answer != handlertest.StreamAnswer(want) {
		t.Errorf("%s, %v, want %q reported", answer, err, want)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestOutboxGoldenEvent(t *testing.T) {
	type sent struct {
		destination string
		outbound.Message
	}
	var all []sent
	var p mailbox
	handler := relay.Outbox(func(_ context.Context, destination string, batch []outbound.Message) ([]error, error) {
		for _, m := range batch {
			all = append(all, sent{destination, m})
		}
		return nil, nil
	}, p.options())
	for range 2 { // the second time, nothing is left
		if answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Golden(t, "outbox.json")); err != nil || answer != handlertest.StreamAnswer("") {
			t.Errorf("%s, %v", answer, err)
		}
	}
	const one, two = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
	want := []sent{
		{"orders", outbound.Message{ID: one + "-0", Aggregate: "order-1", Destination: "orders", Type: "placed", Body: []byte(`{"id":"o1"}`),
			Attributes: map[string]string{"tenant": "ada", "once_key": one + "-0"}}},
		{"orders", outbound.Message{ID: two + "-0", Aggregate: "order-2", Destination: "orders", Type: "placed", Body: []byte(`{"id":"o2"}`),
			Attributes: map[string]string{"once_key": two + "-0"}}},
		{"mails", outbound.Message{ID: one + "-1", Aggregate: "order-1", Destination: "mails", Body: []byte{},
			Attributes: map[string]string{"once_key": "0123456789abcdef0123456789abcdef:mail"}}},
	}
	if fmt.Sprintf("%q", all) != fmt.Sprintf("%q", want) {
		t.Errorf("published %q\nwant %q", all, want)
	}
	same(t, "marked", p.marked, []string{"order-2/" + two, "order-1/" + one, "order-1/" + one, "order-2/" + two})
}

// Messages of one aggregate go out one after the other, also to different
// destinations and over several items; those of others fill the batches.
func TestOutboxOrderAndBatches(t *testing.T) {
	var p mailbox
	o := p.options()
	o.BatchSize = 2
	handler := relay.Outbox(p.publish, o)
	answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, outboxEvent("a:q1,q1,q2", "b:q1", "c:q1", "a:q1", "d:q2")))
	if err != nil || answer != handlertest.StreamAnswer("") {
		t.Errorf("%s, %v", answer, err)
	}
	same(t, "calls", p.calls, []string{
		"q1: item0-0 item1-0", "q1: item2-0", "q2: item4-0",
		"q1: item0-1", "q2: item0-2", "q1: item3-0",
	})
	same(t, "marked", p.marked, []string{"b/item1", "c/item2", "d/item4", "a/item0", "a/item3"})
}

// A failure stops its aggregate and no other. The first item that is not
// out is reported, in the order of the stream and not of the failures.
func TestOutboxFailures(t *testing.T) {
	p := mailbox{fail: map[string]error{"item1-1": errFull, "item4-0": errFull}}
	event := outboxEvent("a:q", "b:q,q,q", "b:q", "a:q", "d:q", "d:q", "c:q")
	checkRelay(t, &p, event, "seq1")
	same(t, "out", p.out, []string{"item0-0", "item1-0", "item6-0", "item3-0"})
	same(t, "marked", p.marked, []string{"a/item0", "c/item6", "a/item3"})

	// Another process takes over, and knows of nothing: the ids are the same.
	p.fail, p.out = nil, nil
	event.Records = event.Records[1:]
	checkRelay(t, &p, event, "")
	same(t, "out", p.out, []string{"item1-0", "item3-0", "item4-0", "item6-0", "item1-1", "item5-0", "item1-2", "item2-0"})
}

func TestOutboxRemembersWhatItPublished(t *testing.T) {
	p := mailbox{fail: map[string]error{"item0-1": errFull}}
	handler := relay.Outbox(p.publish, p.options())
	event := outboxEvent("a:q,q", "b:q")
	for _, want := range []string{"seq0", "seq0", ""} {
		if want == "" {
			p.fail = nil
		}
		if answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, event)); err != nil || answer != handlertest.StreamAnswer(want) {
			t.Errorf("%s, %v", answer, err)
		}
	}
	same(t, "out", p.out, []string{"item0-0", "item1-0", "item0-1"})
	// A later call with the same key writes the item again, with the same ids,
	// and it is to go out again.
	for i := range event.Records {
		event.Records[i].EventID, event.Records[i].EventName = fmt.Sprint("later", i), "MODIFY"
	}
	p.out = nil
	if answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, event)); err != nil || answer != handlertest.StreamAnswer("") {
		t.Errorf("%s, %v", answer, err)
	}
	same(t, "out", p.out, []string{"item0-0", "item1-0", "item0-1"})
}

func TestOutboxWholeCallsFail(t *testing.T) {
	for name, publish := range map[string]func(context.Context, string, []outbound.Message) ([]error, error){
		"an error": func(context.Context, string, []outbound.Message) ([]error, error) { return nil, errFull },
		"an error, too": func(context.Context, string, []outbound.Message) ([]error, error) {
			return make([]error, 2), errFull
		},
		"a list too short": func(context.Context, string, []outbound.Message) ([]error, error) { return []error{nil}, nil },
		"an empty list":    func(context.Context, string, []outbound.Message) ([]error, error) { return []error{}, nil },
		"a panic":          func(context.Context, string, []outbound.Message) ([]error, error) { panic("secret") },
		"a typed nil": func(context.Context, string, []outbound.Message) ([]error, error) {
			return []error{(*os.PathError)(nil), (*os.PathError)(nil)}, nil
		},
		"the end of its goroutine": func(context.Context, string, []outbound.Message) ([]error, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			failures, p := &handlertest.Received{}, mailbox{}
			handler := relay.Outbox(publish, &relay.Options{Mark: p.mark, OnFailure: failures.Receive})
			answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, outboxEvent("a:q", "b:q", "a:q")))
			if err != nil || answer != handlertest.StreamAnswer("seq0") || len(p.marked) != 0 {
				t.Errorf("%s, %v, marked %v", answer, err, p.marked)
			}
			if len(failures.Failed) != 3 || !errors.Is(failures.Failed[2], handlers.ErrNotStarted) || !strings.HasPrefix(failures.Failed[1].Error(), "handlers: outbox record 1 (seq1): ") {
				t.Errorf("received %v", failures.Failed)
			}
		})
	}
}

// Nothing is published again because it could not be marked, and nothing stops
// for it.
func TestOutboxMarkFails(t *testing.T) {
	for name, mark := range map[string]func(context.Context, []relay.Key) error{
		"error": func(context.Context, []relay.Key) error { return errFull },
		"panic": func(context.Context, []relay.Key) error { panic("secret") },
		"exit":  func(context.Context, []relay.Key) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var p mailbox
			failures := &handlertest.Received{}
			handler := relay.Outbox(p.publish, &relay.Options{Mark: mark, OnFailure: failures.Receive})
			answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, outboxEvent("a:q", "b:q,q")))
			if err != nil || answer != handlertest.StreamAnswer("") {
				t.Errorf("%s, %v", answer, err)
			}
			same(t, "out", p.out, []string{"item0-0", "item1-0", "item1-1"})
			var unmarked *relay.UnmarkedError
			if len(failures.Failed) != 2 || !errors.Is(failures.Failed[0], relay.ErrUnmarked) || !errors.As(failures.Failed[1], &unmarked) ||
				unmarked.Key != (relay.Key{Aggregate: "b", ID: "item1", Created: writtenAt(1)}) || strings.Contains(fmt.Sprint(failures.Failed), "secret") {
				t.Errorf("received %v", failures.Failed)
			}
		})
	}
}

// An item counts as published when all of its messages are.
func TestOutboxMarksAfterTheLastMessage(t *testing.T) {
	var p mailbox
	p.before = func(string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.marked) > 0 {
			t.Errorf("marked %v before all is out", p.marked)
		}
	}
	checkRelay(t, &p, outboxEvent("a:q1,q1,q1"), "")
	same(t, "marked", p.marked, []string{"a/item0"})
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
	var marked []relay.Key
	handler := relay.Outbox((&mailbox{}).publish, &relay.Options{Mark: func(_ context.Context, keys []relay.Key) error {
		marked = append(marked, keys...)
		return nil
	}})
	if answer, err := handlertest.Deliver(t.Context(), handler, handlertest.Marshal(t, event)); err != nil || answer != handlertest.StreamAnswer("") {
		t.Errorf("%s, %v", answer, err)
	}
	want := []relay.Key{{Aggregate: "a", ID: "item0", Created: writtenAt(0)}, {Aggregate: "a", ID: "item0", Created: writtenAt(1)}}
	if !slices.Equal(marked, want) {
		t.Errorf("marked %v, want %v", marked, want)
	}
}

func TestOutboxOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mailbox{before: func(string) { time.Sleep(2 * time.Second) }}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		handler := relay.Outbox(p.publish, p.options())
		answer, err := handlertest.Deliver(ctx, handler, handlertest.Marshal(t, outboxEvent("a:q,q", "b:q", "a:q,q,q", "c:q")))
		if err != nil || answer != handlertest.StreamAnswer("seq2") {
			t.Errorf("%s, %v", answer, err)
		}
		same(t, "out", p.out, []string{"item0-0", "item1-0", "item3-0", "item0-1", "item2-0"})
		same(t, "marked", p.marked, []string{"b/item1", "c/item3", "a/item0"})
	})
}

func TestOutboxConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mailbox{before: func(string) { time.Sleep(time.Second) }}
		o := p.options()
		o.Concurrency = 3
		begun := time.Now()
		answer, err := handlertest.Deliver(t.Context(), relay.Outbox(p.publish, o), handlertest.Marshal(t, outboxEvent("a:q1", "b:q2", "c:q3", "a:q3", "b:q1")))
		if err != nil || answer != handlertest.StreamAnswer("") || time.Since(begun) != 2*time.Second || len(p.out) != 5 {
			t.Errorf("%s, %v, %v after %v", answer, err, p.out, time.Since(begun))
		}
	})
}

func TestOutboxReportsAllMistakes(t *testing.T) {
	handlertest.CheckMistakes(t, func() { relay.Outbox(nil, &relay.Options{BatchSize: -1, Concurrency: -1, Margin: -1}) },
		"the publishing function is nil", "BatchSize is -1", "Concurrency is -1", "Margin is -1ns")
}
