package crashmatrix

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/outbound"
	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
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

// relay publishes with examples/relay what a transaction wrote to the outbox. The
// event of the world is that of the table's stream, which Lambda repeats until it
// is handled.
func relay(ctx context.Context, s *stage) (*world, error) {
	t, err := s.outboxTables(ctx)
	if err != nil {
		return nil, err
	}
	var stream stream
	for i := range transactions {
		if err := s.publish(ctx, t, i); err != nil {
			return nil, err
		}
		if err := s.inserted(ctx, t.outbox, &stream); err != nil {
			return nil, err
		}
	}
	event, err := json.Marshal(stream.event)
	if err != nil {
		return nil, err
	}
	q := new(queue)
	url, end, err := serve(q)
	if err != nil {
		return nil, err
	}
	return &world{
		servers: []kill.Server{s.dynamodb(), {Name: "sqs", Variable: "AWS_ENDPOINT_URL_SQS", URL: url}},
		env:     []string{"OUTBOX_TABLE=" + t.outbox, "ORDER_EVENTS_QUEUE=" + url + "/1/order-events.fifo"},
		event:   event,
		final: func(r lambdaruntime.Response) bool {
			return succeeded(r) && string(r.Payload) == `{"batchItemFailures":[]}`
		},
		glance: func(ctx context.Context) (string, error) { return s.markedEarly(ctx, t.outbox, q.all()) },
		count: func(ctx context.Context, _ point) (effects, error) {
			e := sent(q.all())
			unmarked, err := s.unmarked(ctx, t.outbox)
			if unmarked > 0 && e.wrong == "" {
				e.wrong = fmt.Sprintf("%d items are not marked", unmarked)
			}
			return e, err
		},
		close: end,
	}, nil
}

// publish commits the messages of a transaction, as a handler does.
func (s *stage) publish(ctx context.Context, t outboxTables, transaction int) error {
	store, err := dynamo.New(s.client, t.records, &dynamo.Options{Outbox: t.outbox})
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
				dynamo.Collect(ctx).Publish(outbound.Message{
					Aggregate: aggregate, Destination: "order-events", Type: "Order", Body: []byte(aggregate + " " + body),
				})
			}
		}
		return nil, nil
	})
	return err
}

// sent checks that every message was sent, in the order of its aggregate, and that
// a message which was sent twice has one deduplication id.
func sent(all []message) effects {
	ids, first := map[string]string{}, map[string][]string{}
	e := effects{}
	for _, m := range all {
		known, again := ids[m.Body]
		switch {
		case !again:
			ids[m.Body] = m.DeduplicationID
			first[m.Group] = append(first[m.Group], m.Body)
		case known != m.DeduplicationID:
			e.wrong = fmt.Sprintf("%q was sent with two deduplication ids", m.Body)
		}
	}
	distinct := map[string]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	e.seen = fmt.Sprintf("messages %d, sent %d times", len(distinct), len(all))
	for _, aggregate := range []string{"o-1", "o-2"} {
		want := published(aggregate)
		if !slices.Equal(first[aggregate], want) {
			e.wrong = fmt.Sprintf("%s: sent %q, want %q", aggregate, first[aggregate], want)
		}
	}
	if len(distinct) != len(ids) {
		e.wrong = "two messages have one deduplication id"
	}
	return e
}

// markedEarly checks that every marked message was sent: Lambda may give up on the
// event, and nobody would look for the missing message.
func (s *stage) markedEarly(ctx context.Context, outbox string, all []message) (wrong string, err error) {
	items, err := s.items(ctx, outbox)
	for _, item := range items {
		messages, _ := item["messages"].(*types.AttributeValueMemberL)
		if messages == nil || item["published"] == nil {
			continue
		}
		for _, m := range messages.Value {
			body := m.(*types.AttributeValueMemberM).Value["body"].(*types.AttributeValueMemberB)
			if !slices.ContainsFunc(all, func(m message) bool { return m.Body == string(body.Value) }) {
				wrong = fmt.Sprintf("%q is marked, but was not sent", body.Value)
			}
		}
	}
	return wrong, err
}

func (s *stage) unmarked(ctx context.Context, outbox string) (n int, err error) {
	items, err := s.items(ctx, outbox)
	for _, item := range items {
		if item["published"] == nil {
			n++
		}
	}
	return n, err
}
