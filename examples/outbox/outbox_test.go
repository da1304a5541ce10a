package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/examples/outbox"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Every error applies to its own message.
func TestEntriesThatFail(t *testing.T) {
	for name := range publishers(&service{}) {
		t.Run(name, func(t *testing.T) {
			s := &service{}
			failed, err := publishers(s)[name](t.Context(), "x", batch(`{"a":1}`, refusedBody, `{"a":2}`, forgottenBody, "\xff", `{"a":3}`, ""))
			if err != nil || len(failed) != 7 {
				t.Fatal(failed, err)
			}
			for i, fails := range []bool{false, true, false, true, true, false, true} {
				if (failed[i] != nil) != fails || strings.Contains(fmt.Sprint(failed[i]), "secret") {
					t.Errorf("message %d: %v", i, failed[i])
				}
			}
			var refused *outbox.EntryError
			if !errors.As(failed[1], &refused) || !errors.Is(failed[1], outbox.ErrRefused) || refused.Code != "InvalidMessageContents" || refused.Message != "secret" || refused.SenderFault != (name != "EventBridge") {
				t.Errorf("refused: %#v", failed[1])
			}
			if len(s.calls) != 1 || len(s.calls[0]) != 5 || s.destination != "orders" {
				t.Errorf("calls %v to %s", s.calls, s.destination)
			}
			s.down = errors.New("throttled")
			failed, err = publishers(s)[name](t.Context(), "x", batch(`{}`, "", `{}`))
			if err != nil || failed[0] != s.down || failed[1] == nil || failed[1] == s.down || failed[2] != s.down {
				t.Errorf("a call that fails: %v, %v", failed, err)
			}
		})
	}
}

// Calls have at most 10 entries and 256 KiB; a longer message is sent alone.
func TestLimitsOfACall(t *testing.T) {
	long := func(kib int) string { return `{"a":"` + strings.Repeat("x", kib<<10) + `"}` }
	for name, test := range map[string]struct {
		bodies []string
		want   []int
	}{
		"entries": {slices.Repeat([]string{"{}"}, 21), []int{10, 10, 1}},
		"bytes":   {[]string{long(100), long(100), long(100), long(300), "{}"}, []int{2, 1, 1, 1}},
	} {
		for to := range publishers(&service{}) {
			s := &service{}
			failed, err := publishers(s)[to](t.Context(), "x", batch(test.bodies...))
			var got []int
			for _, call := range s.calls {
				got = append(got, len(call))
			}
			if err != nil || len(slices.DeleteFunc(failed, func(err error) bool { return err == nil })) != 0 || !slices.Equal(got, test.want) {
				t.Errorf("%s by %s: %v, %v, calls of %v", to, name, failed, err, got)
			}
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	messages := batch(`{"n":9007199254740993}`)
	messages[0].Attributes = map[string]string{handlers.ChainAttribute: "root:placed", "tenant": "ada"}
	for name, fifo := range map[string]bool{"orders": false, "orders.fifo": true} {
		for to, publish := range map[string]func(*service) outbox.Publish{
			"SQS": func(s *service) outbox.Publish { return outbox.SQS(s, name) },
			"SNS": func(s *service) outbox.Publish { return outbox.SNS(s, name) },
		} {
			s := &service{}
			failed, err := publish(s)(t.Context(), "x", messages)
			if err != nil || failed[0] != nil {
				t.Fatal(failed, err)
			}
			got := s.calls[0][0]
			want := map[string]string{"once_key": "String root:placed", "tenant": "String ada", "type": "String placed"}
			if got.body != `{"n":9007199254740993}` || !maps.Equal(got.attributes, want) || (got.group == "order-0") != fifo || (got.deduplication == "id-0") != fifo {
				t.Errorf("%s to %s: %+v", to, name, got)
			}
		}
	}
	if len(messages[0].Attributes) != 2 {
		t.Errorf("the message is changed: %v", messages[0].Attributes)
	}

	s := &service{}
	publish := outbox.EventBridge(s, "bus", "shop")
	if failed, err := publish(t.Context(), "x", messages); err != nil || failed[0] == nil {
		t.Errorf("attributes that an event cannot have: %v, %v", failed, err)
	}
	delete(messages[0].Attributes, "tenant")
	if failed, err := publish(t.Context(), "x", messages); err != nil || failed[0] != nil {
		t.Fatal(failed, err)
	}
	if got := s.calls[0][0]; got.body != `{"n":9007199254740993,"once_key":"root:placed"}` || got.kind != "placed of shop" || s.destination != "bus" {
		t.Errorf("event %+v to %s", got, s.destination)
	}
	messages[0].Type = ""
	if failed, err := publish(t.Context(), "x", messages); err != nil || failed[0] == nil {
		t.Errorf("no type: %v, %v", failed, err)
	}
}

// One message with attributes that SQS does not take would fail all in its call.
func TestAttributesThatFailACall(t *testing.T) {
	messages := batch("{}", "{}", "{}", "{}")
	messages[0].Attributes["tenant"] = ""
	messages[1].Attributes[""] = "ada"
	for i := range 9 { // 11 with the chain key and the type
		messages[2].Attributes[fmt.Sprint("a", i)] = "x"
	}
	for _, name := range []string{"SQS", "SNS"} {
		s := &service{}
		failed, err := publishers(s)[name](t.Context(), "x", messages)
		if err != nil || failed[0] == nil || failed[1] == nil || failed[2] == nil || failed[3] != nil || len(s.calls) != 1 || len(s.calls[0]) != 1 {
			t.Errorf("%s: %v, %v", name, failed, err)
		}
	}
}

// Aggregates are any text; groups are not.
func TestNamesOfAttributes(t *testing.T) {
	for name, fits := range map[string]bool{
		"tenant": true, "a.b-c_9": true, strings.Repeat("a", 256): true, "awsome": true,
		strings.Repeat("a", 257): false, "a b": false, "größe": false, ".a": false, "a.": false, "a..b": false, "AWS.a": false, "Amazon.a": false,
	} {
		messages := batch("{}")
		messages[0].Attributes[name] = "x"
		failed, err := outbox.SQS(&service{}, "orders")(t.Context(), "x", messages)
		if err != nil || (failed[0] == nil) != fits {
			t.Errorf("%.20q: %v, %v", name, failed, err)
		}
	}
}

// A replaced character would make a different message under the same id.
func TestCharactersThatSQSDoesNotTake(t *testing.T) {
	for _, text := range []string{"a\x00", "\x1b[0m", "\ufffe", "\uffff"} {
		s := &service{}
		messages := batch(text, "{}", "a\tb\r\n\u007f\ue000\U0010ffff")
		messages[1].Attributes["tenant"] = text
		failed, err := outbox.SQS(s, "orders")(t.Context(), "x", messages)
		if err != nil || failed[0] == nil || failed[1] == nil || failed[2] != nil || len(s.calls) != 1 || len(s.calls[0]) != 1 {
			t.Errorf("%q: %v, %v, calls %v", text, failed, err, s.calls)
		}
	}
}

// Pending messages are published from the table, without the relay.
func TestMessagesWithoutAttributes(t *testing.T) {
	for name := range publishers(&service{}) {
		s := &service{}
		messages := batch("{}")
		messages[0].Attributes = nil
		if failed, err := publishers(s)[name](t.Context(), "x", messages); err != nil || failed[0] != nil {
			t.Fatal(name, failed, err)
		}
		got := s.calls[0][0]
		if got.attributes["once_key"] != "String id-0" && got.body != `{"once_key":"id-0"}` {
			t.Errorf("%s: sent without its key: %+v", name, got)
		}
	}
}

func TestMessageGroups(t *testing.T) {
	s := &service{}
	aggregates := []string{"order#1", "Bestellung 1", "größe", strings.Repeat("a", 129), strings.Repeat("a", 128)}
	messages := batch(slices.Repeat([]string{"{}"}, len(aggregates))...)
	for i, aggregate := range aggregates {
		messages[i].Aggregate = aggregate
	}
	if failed, err := outbox.SQS(s, "q.fifo")(t.Context(), "x", messages); err != nil || failed[0] != nil {
		t.Fatal(failed, err)
	}
	seen := map[string]bool{}
	for i, m := range s.calls[0] {
		if same := m.group == aggregates[i]; same != (i == 0 || i == 4) || len(m.group) > 128 || seen[m.group] {
			t.Errorf("%q has the group %q", aggregates[i], m.group)
		}
		seen[m.group] = true
	}
}

func TestRoute(t *testing.T) {
	s := &service{}
	publish := outbox.Route(publishers(s))
	if failed, err := publish(t.Context(), "SNS", batch("{}")); err != nil || failed[0] != nil || len(s.calls) != 1 {
		t.Errorf("%v, %v, %v", failed, err, s.calls)
	}
	if _, err := publish(t.Context(), "elsewhere", batch("{}")); !errors.Is(err, outbox.ErrDestination) {
		t.Errorf("%v", err)
	}
}

// A message that is published twice has one effect in the function of its queue.
func TestFromTheOutboxToAnEffect(t *testing.T) {
	s := &service{}
	for range 2 { // the relay died before the item was marked
		if failed, err := outbox.SQS(s, "orders")(t.Context(), "x", batch(`{"id":"o1"}`, `{"id":"o2"}`)); err != nil || failed[0] != nil || failed[1] != nil {
			t.Fatal(failed, err)
		}
	}
	x, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	var placed []string
	handler := handlers.SQS(x, nil, func(_ context.Context, m handlers.SQSMessage[struct{ ID string }]) error {
		placed = append(placed, m.Body.ID)
		return nil
	}, nil)
	for call, messages := range s.calls {
		var event events.SQSEvent
		for i, m := range messages {
			chain := strings.TrimPrefix(m.attributes[handlers.ChainAttribute], "String ")
			event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint(call, i), Body: m.body, EventSource: "aws:sqs",
				MessageAttributes: map[string]events.SQSMessageAttribute{handlers.ChainAttribute: {DataType: "String", StringValue: &chain}}})
		}
		if answer, err := handler(t.Context(), event); err != nil || len(answer.BatchItemFailures) != 0 {
			t.Errorf("%v, %v", answer, err)
		}
	}
	if want := []string{"o1", "o2"}; !slices.Equal(placed, want) {
		t.Errorf("placed %v, want %v", placed, want)
	}
}
