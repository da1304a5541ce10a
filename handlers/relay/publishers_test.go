package relay_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/eventbridgepublisher"
	"github.com/lambda-once/once/handlers/relay/snspublisher"
	"github.com/lambda-once/once/handlers/relay/sqspublisher"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// published publishes messages, and returns the error of each.
func published(t *testing.T, publish relay.Publisher, messages []driver.OutboxMessage) []error {
	t.Helper()
	failed, err := publish(t.Context(), "x", messages)
	check.Must(t, err)
	check.Equal(t, len(failed), len(messages))
	return failed
}

// which returns the messages that failed.
func which(failed []error) (places []int) {
	for i, err := range failed {
		if err != nil {
			places = append(places, i)
		}
	}
	return places
}

func TestFailureOfAnEntryIsThatOfItsMessage(t *testing.T) {
	s := newService(t)
	for name, publish := range s.publishers() {
		t.Run(name, func(t *testing.T) {
			s.calls = nil
			failed := published(t, publish, batch(`{"a":1}`, refusedBody, `{"a":2}`, forgottenBody, "\xff", `{"a":3}`, ""))
			check.Slice(t, which(failed), []int{1, 3, 4, 6})
			check.Lacks(t, fmt.Sprint(failed), "secret")
			refused := check.As[*relay.MessageError](t, failed[1])
			check.Equal(t, *refused, relay.MessageError{Reason: "InvalidMessageContents", Text: "secret", Permanent: name != "EventBridge"})
			check.Says(t, failed[3], "no result")
			check.Equal(t, len(s.calls), 1)
			check.Equal(t, len(s.calls[0]), 5)
			check.Equal(t, s.destination, "orders")
		})
	}
}

func TestFailedCallFailsItsMessages(t *testing.T) {
	s := newService(t)
	s.down = true
	for name, publish := range s.publishers() {
		failed := published(t, publish, batch(`{}`, "", `{}`))
		check.Slice(t, which(failed), []int{0, 1, 2}, name)
		check.Equal(t, failed[0], failed[2], name)
		check.Says(t, failed[0], "403", name)
	}
}

// A longer message is sent alone. A queue with a MaximumMessageSize of 256 KiB, as one of
// Terraform, refuses a larger call as a whole, time and again.
func TestCallsKeepTheLimitsOfTheService(t *testing.T) {
	long := func(kib int) string { return `{"a":"` + strings.Repeat("x", kib<<10) + `"}` }
	s := newService(t)
	for name, publish := range s.publishers() {
		for _, test := range []struct {
			bodies []string
			want   []int
		}{
			{slices.Repeat([]string{"{}"}, 21), []int{10, 10, 1}},
			{[]string{long(100), long(100), long(350), long(250), long(255), "{}"}, []int{2, 1, 1, 2}},
		} {
			s.calls = nil
			check.Slice(t, which(published(t, publish, batch(test.bodies...))), nil, name)
			var got []int
			for _, call := range s.calls {
				got = append(got, len(call))
			}
			check.Slice(t, got, test.want, name)
		}
	}
}

// These are the bytes of the requests.
func TestRequests(t *testing.T) {
	s := newService(t)
	messages := batch(`{"n":9007199254740993}`)
	for want, publish := range map[string]relay.Publisher{
		`{"QueueUrl":"` + s.url + `/orders.fifo","Entries":[{"Id":"0","MessageBody":"{\"n\":9007199254740993}","MessageAttributes":` +
			`{"once_key":{"DataType":"String","StringValue":"id-0"},"type":{"DataType":"String","StringValue":"placed"}},` +
			`"MessageDeduplicationId":"id-0","MessageGroupId":"order-0"}]}`: s.queue("orders.fifo"),
		`{"Entries":[{"Detail":"{\"n\":9007199254740993,\"once_key\":\"id-0\"}","DetailType":"placed","EventBusName":"bus","Source":"shop"}]}`: s.bus("bus", "shop"),
		"Action=PublishBatch": s.topicOf("orders.fifo"),
	} {
		s.requests = nil
		check.Slice(t, which(published(t, publish, messages)), nil)
		check.Equal(t, len(s.requests), 1)
		if strings.HasPrefix(want, "Action") { // its attributes are in no order
			check.Contains(t, s.requests[0], "PublishBatchRequestEntries.member.1.MessageDeduplicationId=id-0")
			check.Contains(t, s.requests[0], "PublishBatchRequestEntries.member.1.MessageGroupId=order-0")
			check.Contains(t, s.requests[0], "PublishBatchRequestEntries.member.1.Message=%7B%22n%22%3A9007199254740993%7D")
			continue
		}
		var got, wanted any
		check.Must(t, json.Unmarshal([]byte(s.requests[0]), &got))
		check.Must(t, json.Unmarshal([]byte(want), &wanted))
		check.True(t, reflect.DeepEqual(got, wanted), s.requests[0])
	}
}

func TestProducersAttributesAreSent(t *testing.T) {
	s := newService(t)
	messages := batch("{}")
	messages[0].Attributes = map[string]string{handlers.ChainAttribute: "root:placed", "tenant": "ada"}
	for _, publish := range []relay.Publisher{s.queue("orders"), s.topicOf("orders")} {
		s.calls = nil
		check.Slice(t, which(published(t, publish, messages)), nil)
		got := map[string]string{}
		for name, value := range s.calls[0][0].MessageAttributes {
			got[name] = value.DataType + " " + value.StringValue
		}
		want := map[string]string{"once_key": "String root:placed", "tenant": "String ada", "type": "String placed"}
		check.True(t, maps.Equal(got, want), got)
		check.Equal(t, s.calls[0][0].MessageGroupID+s.calls[0][0].MessageDeduplicationID, "", "of a FIFO destination")
	}
	check.Equal(t, len(messages[0].Attributes), 2, "the message is changed")
}

func TestEventNeedsATypeAndNoFurtherAttributes(t *testing.T) {
	messages := batch("{}", "{}", "{}", "[]", "{\"a\":\"\xff\"}") // whose last byte the SDK would replace
	messages[1].Attributes["tenant"] = "ada"
	messages[2].Type = ""
	failed := published(t, newService(t).bus("bus", "shop"), messages)
	check.Slice(t, which(failed), []int{1, 2, 3, 4})
	check.True(t, check.As[*relay.MessageError](t, failed[1]).Permanent)
	check.True(t, check.As[*relay.MessageError](t, failed[2]).Permanent)
	check.Is(t, failed[3], handlers.ErrDetail)
	check.Is(t, failed[4], handlers.ErrDetail)
}

// One message with attributes that SQS does not take would fail all in its call.
func TestAttributesThatFailACall(t *testing.T) {
	s := newService(t)
	messages := batch("{}", "{}", "{}", "{}")
	messages[0].Attributes["tenant"] = ""
	messages[1].Attributes[""] = "ada"
	for i := range 9 { // 11 with the chain key and the type
		messages[2].Attributes[fmt.Sprint("a", i)] = "x"
	}
	for _, publish := range []relay.Publisher{s.queue("orders"), s.topicOf("orders")} {
		s.calls = nil
		check.Slice(t, which(published(t, publish, messages)), []int{0, 1, 2})
		check.Equal(t, len(s.calls[0]), 1)
	}
}

func TestNamesOfAttributes(t *testing.T) {
	publish := newService(t).queue("orders")
	for name, fits := range map[string]bool{
		"tenant": true, "a.b-c_9": true, strings.Repeat("a", 256): true, "awsome": true,
		strings.Repeat("a", 257): false, "a b": false, "größe": false, ".a": false, "a.": false, "a..b": false, "AWS.a": false, "Amazon.a": false,
	} {
		messages := batch("{}")
		messages[0].Attributes[name] = "x"
		check.Equal(t, published(t, publish, messages)[0] == nil, fits, name)
	}
}

// A replaced character would make a different message under the same id.
func TestCharactersThatSQSDoesNotTake(t *testing.T) {
	s := newService(t)
	for _, text := range []string{"a\x00", "\x1b[0m", "\ufffe", "\uffff"} {
		messages := batch(text, "{}", "a\tb\r\n\u007f\ue000\U0010ffff")
		messages[1].Attributes["tenant"] = text
		check.Slice(t, which(published(t, s.queue("orders"), messages)), []int{0, 1})
	}
}

// Pending messages are published from the table, without the relay.
func TestMessageWithoutAttributesHasItsKey(t *testing.T) {
	s := newService(t)
	for name, publish := range s.publishers() {
		messages := batch("{}")
		messages[0].Attributes, s.calls = nil, nil
		check.Slice(t, which(published(t, publish, messages)), nil)
		got := s.calls[0][0]
		check.Equal(t, cmp.Or(got.MessageAttributes["once_key"].StringValue, got.Detail), map[bool]string{false: "id-0", true: `{"once_key":"id-0"}`}[name == "EventBridge"])
	}
}

// Aggregates are any text; groups are not.
func TestMessageGroups(t *testing.T) {
	s := newService(t)
	aggregates := []string{"order#1", "Bestellung 1", "größe", strings.Repeat("a", 129), strings.Repeat("a", 128)}
	messages := batch(slices.Repeat([]string{"{}"}, len(aggregates))...)
	for i, aggregate := range aggregates {
		messages[i].Aggregate = aggregate
	}
	published(t, s.queue("q.fifo"), messages)
	seen := map[string]bool{}
	for i, m := range s.calls[0] {
		check.Equal(t, m.MessageGroupID == aggregates[i], i == 0 || i == 4)
		check.False(t, len(m.MessageGroupID) > 128 || seen[m.MessageGroupID], m.MessageGroupID)
		seen[m.MessageGroupID] = true
	}
}

func TestRouteKnowsItsDestinations(t *testing.T) {
	s := newService(t)
	publish := relay.Route(s.publishers())
	failed, err := publish(t.Context(), "SNS", batch("{}"))
	check.Must(t, err)
	check.Slice(t, which(failed), nil)
	_, err = publish(t.Context(), "elsewhere", batch("{}"))
	check.Says(t, check.As[*relay.MessageError](t, err), `"elsewhere"`)
}

func TestPublishersReportAllMistakes(t *testing.T) {
	handlertest.CheckMistakes(t, func() { sqspublisher.New(nil, "") }, "the client is nil", "the URL of the queue is empty")
	handlertest.CheckMistakes(t, func() { snspublisher.New(nil, "") }, "the client is nil", "the ARN of the topic is empty")
	handlertest.CheckMistakes(t, func() { eventbridgepublisher.New(nil, "bus", "") }, "the client is nil", "of the source is empty")
}

// The relay marks what the queue has accepted, and sends the rest again: what it refuses
// holds up its own aggregate alone.
func TestRelayMarksOnlyWhatTheServiceAccepted(t *testing.T) {
	s, p := newService(t), mailbox{}
	publish := s.queue("orders.fifo")
	handler := relay.Outbox(publish, p.options())
	event := outboxEvent("a:q", "b:q", "a:q", "c:q")
	bodyOf(event, 0, refusedBody)
	continuesFrom(t, t.Context(), handler, event, "seq0")
	check.Slice(t, p.marked, []string{"b/item1", "c/item3"})
	bodyOf(event, 0, `{}`)
	continuesFrom(t, t.Context(), handler, event, "")
	check.Slice(t, p.marked, []string{"b/item1", "c/item3", "b/item1", "c/item3", "a/item0", "a/item2"})
	var ids []string
	for _, call := range s.calls {
		for _, m := range call {
			ids = append(ids, m.MessageDeduplicationID)
		}
	}
	check.Slice(t, ids, []string{"item0-0", "item1-0", "item3-0", "item0-0", "item2-0"})
}

// bodyOf changes the body of the first message of a record.
func bodyOf(event events.DynamoDBEvent, record int, body string) {
	first := event.Records[record].Change.NewImage["messages"].List()[0].Map()
	first["body"] = events.NewBinaryAttribute([]byte(body))
}
