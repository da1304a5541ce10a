package dynamo

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/outboxitem"
)

// newOutbox is an outbox in a table of its own.
func newOutbox(t *testing.T) (*dynamodb.Client, string, *Outbox) {
	t.Helper()
	client, table := newClient(t), tableName(t)
	if err := CreateOutboxTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	o, err := NewOutbox(client, table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client, table, o
}

// pending are the items that no relay has marked.
func pending(t *testing.T, o *Outbox, before time.Time) []OutboxItem {
	t.Helper()
	var all []OutboxItem
	for item, err := range o.Pending(t.Context(), before) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b OutboxItem) int { return strings.Compare(a.Aggregate, b.Aggregate) })
	return all
}

func TestPublish(t *testing.T) {
	_, table, outbox := newOutbox(t)
	client, records := newTable(t)
	s := newStore(t, client, records, &Options{Outbox: table})
	x, err := idempotent.New("order", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	errBusy := errors.New("busy")
	first := true
	began := time.Now().Truncate(time.Millisecond)
	order := func() error {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "order#1"}, func(ctx context.Context) (string, error) {
			tx := Transaction(ctx)
			tx.Publish(Message{Aggregate: "order-1", Destination: "mail", Type: "placed", Body: []byte{0xff}, Attributes: map[string]string{"a": "b"}})
			tx.Publish(Message{Aggregate: "stock-7", Destination: "stock", Body: []byte("x")})
			tx.Publish(Message{Aggregate: "order-1", Destination: "mail", Type: "paid"})
			if first {
				first = false
				return "", errBusy
			}
			return "placed", nil
		})
		return err
	}
	if err := order(); err != errBusy {
		t.Fatal(err)
	}
	if got := pending(t, outbox, time.Now().Add(time.Hour)); len(got) > 0 {
		t.Errorf("a handler that has failed has published %+v", got)
	}
	for range 2 {
		if err := order(); err != nil {
			t.Fatal(err)
		}
	}
	got := pending(t, outbox, time.Now().Add(time.Hour))
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	id, other := outboxitem.NewID("order#1", "order-1"), outboxitem.NewID("order#1", "stock-7")
	want := []OutboxItem{
		{Aggregate: "order-1", ID: id, Created: got[0].Created, Messages: []OutboxMessage{
			{ID: id + "-0", Message: Message{Aggregate: "order-1", Destination: "mail", Type: "placed", Body: []byte{0xff}, Attributes: map[string]string{"a": "b"}}},
			{ID: id + "-1", Message: Message{Aggregate: "order-1", Destination: "mail", Type: "paid", Body: []byte{}}},
		}},
		{Aggregate: "stock-7", ID: other, Created: got[0].Created, Messages: []OutboxMessage{
			{ID: other + "-0", Message: Message{Aggregate: "stock-7", Destination: "stock", Body: []byte("x")}},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if created := got[0].Created; created.Before(began) || created.After(time.Now()) {
		t.Errorf("created %v", created)
	}
	if old := pending(t, outbox, began); len(old) > 0 {
		t.Errorf("older than the call: %+v", old)
	}

	for range 2 { // the relay may mark again
		if err := outbox.Mark(t.Context(), "order-1", id, got[0].Created); err != nil {
			t.Fatal(err)
		}
	}
	if rest := pending(t, outbox, time.Now().Add(time.Hour)); len(rest) != 1 || rest[0].Aggregate != "stock-7" {
		t.Errorf("after the mark: %+v", rest)
	}
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table,
		Key: map[string]types.AttributeValue{"aggregate": text("order-1"), "id": text(id)}})
	if err != nil {
		t.Fatal(err)
	}
	d := decoder{item: out.Item}
	published, expiration := d.number("published", 1, maxMillis, 0), d.number("expiration", 1, maxSeconds, 0)
	if d.err != nil || expiration-published/1000 != 24*60*60 {
		t.Errorf("published %d, expiration %d, %v", published, expiration, d.err)
	}
}

// Neither a mark that comes late nor one of nothing makes an item.
func TestMarkOfNothing(t *testing.T) {
	_, _, outbox := newOutbox(t)
	err := outbox.Mark(t.Context(), "secret", "id", time.Now())
	var failed *Error
	if !errors.Is(err, ErrNotInOutbox) || !errors.As(err, &failed) || errors.Is(err, driver.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if got := pending(t, outbox, time.Now().Add(time.Hour)); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// What is published is not what has been written over it since: that has messages
// that may not be out.
func TestOutboxMarkOfARewrittenItem(t *testing.T) {
	client, table, outbox := newOutbox(t)
	s := newStore(t, client, table, &Options{Outbox: table, Attributes: Attributes{ID: "aggregate", SortKey: "id"}})
	write := func(body string, created time.Time) OutboxItem {
		t.Helper()
		tx := new(Tx)
		tx.Publish(Message{Aggregate: "a", Destination: "d", Body: []byte(body)})
		sealed(t, tx)
		tx.created = created
		if err := s.Commit(t.Context(), "op#1", tx); err != nil {
			t.Fatal(err)
		}
		items := pending(t, outbox, time.Now())
		if len(items) != 1 || string(items[0].Messages[0].Body) != body {
			t.Fatalf("%+v", items)
		}
		return items[0]
	}
	first := write("first", time.UnixMilli(1_700_000_000_000))
	second := write("second", time.UnixMilli(1_700_000_000_001))
	if first.ID != second.ID {
		t.Fatalf("%+v is not written over %+v", second, first)
	}
	var failed *Error
	err := outbox.Mark(t.Context(), "a", first.ID, first.Created)
	if !errors.Is(err, ErrNotInOutbox) || !errors.As(err, &failed) || !strings.Contains(failed.Advice, "written anew since") {
		t.Errorf("%v", err)
	}
	if rest := pending(t, outbox, time.Now()); !reflect.DeepEqual(rest, []OutboxItem{second}) {
		t.Errorf("after the late mark: %+v", rest)
	}
	if err := outbox.Mark(t.Context(), "a", second.ID, second.Created); err != nil {
		t.Error(err)
	}
	if rest := pending(t, outbox, time.Now()); len(rest) > 0 {
		t.Errorf("after its own mark: %+v", rest)
	}
}

func TestOutboxErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answer roundTripper
		busy   bool
		advice string
	}{
		"denied":    {refusing(400, "AccessDeniedException", "no"), false, "on the outbox"},
		"throttled": {refusing(400, "ThrottlingException", "slow"), true, "capacity of the outbox"},
		"keys":      {refusing(400, "ValidationException", "The provided key element does not match the schema"), false, `"aggregate"`},
		"no table":  {refusing(400, "ResourceNotFoundException", "no"), false, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := NewOutbox(wireClient(c.answer), "outbox", nil)
			if err != nil {
				t.Fatal(err)
			}
			check := func(err error) {
				var failed *Error
				if !errors.As(err, &failed) || failed.Table != "outbox" || !strings.Contains(failed.Advice, c.advice) ||
					errors.Is(err, driver.ErrUnavailable) != c.busy {
					t.Errorf("%v", err)
				}
			}
			check(o.Mark(t.Context(), "a", "id", time.Now()))
			n := 0
			for _, err := range o.Pending(t.Context(), time.Now()) {
				n++
				check(err)
			}
			if n != 1 {
				t.Errorf("%d errors", n)
			}
		})
	}
}

func TestNewOutboxRefuses(t *testing.T) {
	client := wireClient(answering(200, "{}"))
	for name, make := range map[string]func() (*Outbox, error){
		"no client": func() (*Outbox, error) { return NewOutbox(nil, "outbox", nil) },
		"no table":  func() (*Outbox, error) { return NewOutbox(client, "", nil) },
		"retention": func() (*Outbox, error) { return NewOutbox(client, "outbox", &OutboxOptions{Retention: -1}) },
	} {
		if o, err := make(); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestOutboxTable(t *testing.T) {
	client, table, _ := newOutbox(t)
	if err := CreateOutboxTable(t.Context(), client, table); err != nil {
		t.Errorf("again: %v", err)
	}
	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	if s := out.Table.StreamSpecification; s == nil || !*s.StreamEnabled || s.StreamViewType != types.StreamViewTypeNewImage {
		t.Errorf("%+v", s)
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "expiration" {
		t.Errorf("%+v, %v", ttl, err)
	}
	_, records := newTable(t)
	if err := CreateOutboxTable(t.Context(), client, records); err == nil {
		t.Error("a table with other keys is taken")
	}
	bare := tableName(t)
	l := outboxLayout()
	if _, err := createTable(t.Context(), client, bare, &l, nil); err != nil {
		t.Fatal(err)
	}
	if err := CreateOutboxTable(t.Context(), client, bare); err == nil || !strings.Contains(err.Error(), "stream") {
		t.Errorf("a table without a stream: %v", err)
	}
}
