package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
)

func readEvent(file string, event any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, event)
}

// outboxEvent has an item for each text, such as "a:q1,q2": the aggregate a
// with messages for the destinations q1 and q2. Their ids are item<n>-<m>, and
// the item is written at writtenAt(n).
func outboxEvent(items ...string) events.DynamoDBEvent {
	var event events.DynamoDBEvent
	s, l, m, b := events.NewStringAttribute, events.NewListAttribute, events.NewMapAttribute, events.NewBinaryAttribute
	for i, item := range items {
		aggregate, destinations, _ := strings.Cut(item, ":")
		id := fmt.Sprint("item", i)
		var messages []events.DynamoDBAttributeValue
		for j, destination := range strings.Split(destinations, ",") {
			messages = append(messages, m(map[string]events.DynamoDBAttributeValue{
				"id": s(fmt.Sprintf("%s-%d", id, j)), "destination": s(destination), "type": s("placed"), "body": b([]byte(`{"id":"o"}`)),
			}))
		}
		keys := map[string]events.DynamoDBAttributeValue{"aggregate": s(aggregate), "id": s(id)}
		event.Records = append(event.Records, events.DynamoDBEventRecord{
			EventID: fmt.Sprint("e", i), EventName: "INSERT", EventSource: "aws:dynamodb",
			Change: events.DynamoDBStreamRecord{Keys: keys, SequenceNumber: fmt.Sprint("seq", i), NewImage: map[string]events.DynamoDBAttributeValue{
				"aggregate": keys["aggregate"], "id": keys["id"], "created": millis(writtenAt(i)), "messages": l(messages),
			}},
		})
	}
	return event
}

var continuesFrom = handlertest.ContinuesFrom

func writtenAt(item int) time.Time {
	return time.Date(2026, 11, 21, 10, 0, item, int(time.Millisecond), time.UTC)
}

func millis(at time.Time) events.DynamoDBAttributeValue {
	return events.NewNumberAttribute(strconv.FormatInt(at.UnixMilli(), 10))
}

// mailbox receives what a relay publishes, and refuses messages with the ids in
// fail.
type mailbox struct {
	mu      sync.Mutex
	fail    map[string]error // by id; the whole call for "call"
	calls   []string         // "q: item0-0 item1-0"
	out     []string         // ids
	marked  []string
	noMarks error
	before  func(destination string) // each call
}

func (p *mailbox) publish(_ context.Context, destination string, batch []driver.OutboxMessage) (failed []error, err error) {
	if p.before != nil {
		p.before(destination)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	call := destination + ":"
	failed = make([]error, len(batch))
	for i, m := range batch {
		call += " " + m.ID
		if failed[i] = p.fail[m.ID]; failed[i] == nil {
			p.out = append(p.out, m.ID)
		}
	}
	p.calls = append(p.calls, call)
	return failed, p.fail["call"]
}

func (p *mailbox) mark(_ context.Context, keys []driver.OutboxKey) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		if p.noMarks == nil {
			p.marked = append(p.marked, key.Aggregate+"/"+key.ID)
		}
	}
	return p.noMarks
}

func (p *mailbox) options() *relay.Options {
	return &relay.Options{Mark: p.mark, OnFailure: handlertest.Quiet}
}
