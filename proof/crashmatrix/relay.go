package crashmatrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/internal/orderevents"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/proof/internal/tables"
)

// transactions publish messages by aggregate, one transaction after the other.
var transactions = []map[string][]string{
	{"o-1": {"placed", "paid"}, "o-2": {"placed"}},
	{"o-1": {"shipped"}},
}

// published returns all messages by aggregate, in their order.
func published(aggregate string) (bodies []string) {
	for _, t := range transactions {
		for _, body := range t[aggregate] {
			bodies = append(bodies, aggregate+" "+body)
		}
	}
	return bodies
}

// relay publishes with examples/relay the messages that a transaction wrote to the outbox. The
// event of the world is that of the table's stream, which Lambda repeats until it
// is handled.
func relay(ctx context.Context, s *stage) (*kill.World, error) {
	t, err := s.outboxTables(ctx)
	if err != nil {
		return nil, err
	}
	var inserts events.DynamoDBEvent
	for i := range transactions {
		if err := s.publish(ctx, t, i); err != nil {
			return nil, err
		}
		if err := s.inserted(ctx, t.outbox, &inserts); err != nil {
			return nil, err
		}
	}
	event, err := json.Marshal(inserts)
	if err != nil {
		return nil, err
	}
	q := new(orderevents.Queue)
	server := httptest.NewServer(q)
	return &kill.World{
		Servers: []kill.Server{s.dynamodb(), {Name: "sqs", Variable: "AWS_ENDPOINT_URL_SQS", URL: server.URL}},
		Env:     []string{"OUTBOX_TABLE=" + t.outbox, "ORDER_EVENTS_QUEUE=" + server.URL + "/1/order-events.fifo"},
		Event:   event,
		Final: func(r lambdaruntime.Response) bool {
			return succeeded(r) && string(r.Payload) == `{"batchItemFailures":[]}`
		},
		Glance: func(ctx context.Context) (broken, err error) {
			items, err := s.Items(ctx, t.outbox)
			return markedEarly(items, q.Messages()), err
		},
		Check: func(ctx context.Context, r *kill.Run) (broken, err error) {
			r.Seen, broken = sent(q.Messages())
			items, err := s.Items(ctx, t.outbox)
			for _, item := range items {
				if item["published"] == nil {
					broken = cmp.Or(broken, errors.New("an item is not marked"))
				}
			}
			return broken, err
		},
		Close: closing(server),
	}, nil
}

// outboxTables are the tables of a function that commits messages.
type outboxTables struct{ records, orders, outbox string }

func (s *stage) outboxTables(ctx context.Context) (t outboxTables, err error) {
	if t.records, err = s.Create(ctx); err != nil {
		return t, err
	}
	if t.orders, err = s.Create(ctx); err != nil {
		return t, err
	}
	t.outbox = s.Name()
	return t, outbox.CreateTable(ctx, s.Client, t.outbox)
}

// publish commits the messages of a transaction, as a handler does.
func (s *stage) publish(ctx context.Context, t outboxTables, transaction int) error {
	store, err := dynamo.New(s.Client, t.records, &dynamo.Options{Outbox: t.outbox})
	if err != nil {
		return err
	}
	x, err := idempotent.New("checkout", store, nil)
	if err != nil {
		return err
	}
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: strconv.Itoa(transaction)}, func(ctx context.Context) (any, error) {
		for aggregate, bodies := range transactions[transaction] {
			for _, body := range bodies {
				dynamo.Collect(ctx).Publish(driver.OutboxMessage{
					Aggregate: aggregate, Destination: "order-events", Type: "Order", Body: []byte(aggregate + " " + body),
				})
			}
		}
		return nil, nil
	})
	return err
}

// inserted adds new items of an outbox to the event of its stream.
func (s *stage) inserted(ctx context.Context, outbox string, event *events.DynamoDBEvent) error {
	items, err := s.Items(ctx, outbox)
	for _, item := range items {
		record := orderevents.Inserted(len(event.Records), item)
		known := func(r events.DynamoDBEventRecord) bool {
			return reflect.DeepEqual(r.Change.NewImage, record.Change.NewImage)
		}
		if !slices.ContainsFunc(event.Records, known) {
			event.Records = append(event.Records, record)
		}
	}
	return err
}

// sent checks that every message was sent, in the order of its aggregate, and that
// a message which was sent twice has one deduplication id.
func sent(all []orderevents.Message) (seen string, wrong error) {
	ids, first := map[string]string{}, map[string][]string{}
	bodies := map[string]string{} // by deduplication id
	for _, m := range all {
		known, again := ids[m.Body]
		switch {
		case !again:
			ids[m.Body], bodies[m.DeduplicationID] = m.DeduplicationID, m.Body
			first[m.Group] = append(first[m.Group], m.Body)
		case known != m.DeduplicationID:
			wrong = fmt.Errorf("%q was sent with two deduplication ids", m.Body)
		}
	}
	for _, aggregate := range []string{"o-1", "o-2"} {
		want := published(aggregate)
		if !slices.Equal(first[aggregate], want) {
			wrong = fmt.Errorf("%s: sent %q, want %q", aggregate, first[aggregate], want)
		}
	}
	if len(bodies) != len(ids) {
		wrong = errors.New("two messages have one deduplication id")
	}
	return fmt.Sprintf("messages %d, sent %d times", len(bodies), len(all)), wrong
}

// markedEarly checks that every marked message was sent: Lambda may give up on the
// event, and nothing would look for the missing message.
func markedEarly(items []tables.Item, all []orderevents.Message) (broken error) {
	for _, item := range items {
		var written struct{ Messages []struct{ Body []byte } }
		if err := attributevalue.UnmarshalMap(item, &written); err != nil {
			return err
		}
		for _, m := range written.Messages {
			known := slices.ContainsFunc(all, func(sent orderevents.Message) bool { return sent.Body == string(m.Body) })
			if item["published"] != nil && !known {
				broken = fmt.Errorf("%q is marked, but was not sent", m.Body)
			}
		}
	}
	return broken
}
