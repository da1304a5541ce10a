package dynamo

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

var updateGolden = flag.Bool("update", false, "rewrite testdata/*.golden")

// Every write of the protocol, word for word: a clause that is lost here is
// an invariant that is lost.
func TestGoldenRequests(t *testing.T) {
	lease, expires, began := time.UnixMilli(1_700_000_060_123), time.Unix(1_700_003_600, 0), time.UnixMilli(1_700_000_000_123)
	owned := driver.Fence{ID: "op#1", Owner: "me", Attempt: 2, Lease: lease}
	record := driver.Record{ID: "op#1", Status: driver.InProgress, Owner: "me", Attempt: 1, Lease: lease, Expires: expires, Began: began, Fingerprint: "f"}
	requested := record
	requested.Request = []byte(`{"amount":42}`)
	done := record
	ended, declined := driver.Ending{At: time.UnixMilli(1_700_000_000_456)}, driver.Ending{At: time.UnixMilli(1_700_000_000_456), Type: "CardDeclined", Code: "51"}
	done.Status, done.Data, done.Refunds, done.Began, done.Ended = driver.Completed, []byte("42"), 1, time.Time{}, ended
	minimal := driver.Record{ID: "op#1", Status: driver.Failed, Unavailable: "why"}
	over := time.UnixMilli(1_700_000_000_999)
	composite := &Options{Layout: Layout{ID: "pk", SortKey: "sk", Status: "state", Partition: "part", Shards: 7}}

	for name, c := range map[string]struct {
		options *Options
		call    func(*Store) error
	}{
		"create":             {nil, creating(t, record, over)},
		"create_requested":   {nil, creating(t, requested, over)},
		"create_absent":      {nil, creating(t, record, time.Time{})},
		"create_completed":   {nil, creating(t, done, time.Time{})},
		"create_minimal":     {nil, creating(t, minimal, time.Time{})},
		"create_composite":   {composite, creating(t, record, over)},
		"take_over":          {nil, changing(t, owned, driver.Change{Owner: "new", Lease: lease.Add(time.Second), Expires: expires, Fingerprint: "f"})},
		"take_over_begins":   {nil, changing(t, owned, driver.Change{Owner: "new", Lease: lease.Add(time.Second), Expires: expires, Began: began})},
		"take_over_fraction": {nil, changing(t, driver.Fence{ID: "op#1", Lease: lease}, driver.Change{Owner: "new", Lease: lease, Expires: expires})},
		"take_over_foreign":  {nil, changing(t, driver.Fence{ID: "op#1"}, driver.Change{Owner: "new", Lease: lease, Expires: expires})},
		"extend":             {nil, changing(t, owned, driver.Change{Lease: lease, Expires: expires})},
		"extend_only":        {nil, changing(t, owned, driver.Change{Lease: lease})},
		"step":               {nil, changing(t, owned, driver.Change{Steps: map[string][]byte{"b": []byte("2"), "a.x": nil}})},
		"complete":           {nil, changing(t, owned, driver.Change{Status: driver.Completed, Data: []byte("42"), Expires: expires, Ended: ended})},
		"complete_nothing":   {nil, changing(t, owned, driver.Change{Status: driver.Completed})},
		"complete_empty":     {nil, changing(t, owned, driver.Change{Status: driver.Completed, Data: []byte{}})},
		"fail_unavailable":   {nil, changing(t, owned, driver.Change{Status: driver.Failed, Unavailable: "why", Expires: expires, Ended: declined})},
		"complete_elsewhere": {nil, changing(t, owned, driver.Change{Status: driver.Completed, Payload: "once/1", Expires: expires})},
		"create_elsewhere":   {nil, creating(t, driver.Record{ID: "op#1", Status: driver.Completed, Payload: "once/1"}, time.Time{})},
		"adopt":              {nil, changing(t, driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}, driver.Change{Owner: "new", Status: driver.Completed, Data: []byte("42"), Expires: expires, Ended: ended})},
		"delete":             {nil, changing(t, owned, driver.Change{Release: driver.ReleaseDelete})},
		"delete_composite":   {composite, changing(t, owned, driver.Change{Release: driver.ReleaseDelete})},
		"keep":               {nil, changing(t, owned, driver.Change{Release: driver.ReleaseKeep})},
		"refund":             {nil, changing(t, owned, driver.Change{Release: driver.ReleaseRefund})},
		"get":                {composite, func(s *Store) error { _, err := s.Get(t.Context(), "op#1"); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, c.options)
			check.Must(t, c.call(s))
			if len(client.sent) != 1 {
				t.Fatalf("%d requests, want 1", len(client.sent))
			}
			check.Golden(t, "testdata/requests.golden", name, strings.Join(client.sent, "\n\n")+"\n", *updateGolden)
		})
	}
}

// Every transaction, word for word, with each kind of addition.
func TestGoldenTransactions(t *testing.T) {
	lease, expires := time.UnixMilli(1_700_000_060_123), time.Unix(1_700_003_600, 0)
	owned := driver.Fence{ID: "op#1", Owner: "me", Attempt: 2, Lease: lease}
	released := driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}
	ended := driver.Ending{At: time.UnixMilli(1_700_000_000_456)}
	completed := driver.Change{Status: driver.Completed, Data: []byte("42"), Expires: expires, Ended: ended}
	done := driver.Record{ID: "op#1", Status: driver.Completed, Owner: "me", Attempt: 1, Expires: expires, Fingerprint: "f", Data: []byte("42"), Ended: ended}
	with := func(c driver.Change, t *Tx) driver.Change { c.With = (*attachment)(t); return c }
	adopted := completed
	adopted.Owner = "new"

	for name, call := range map[string]func(*Store, *Tx) error{
		"complete": func(s *Store, tx *Tx) error { return changing(t, owned, with(completed, tx))(s) },
		"adopt":    func(s *Store, tx *Tx) error { return changing(t, released, with(adopted, tx))(s) },
		"create": func(s *Store, tx *Tx) error {
			_, _, err := s.Create(t.Context(), done, time.UnixMilli(1_700_000_000_999), (*attachment)(tx))
			return err
		},
		"alone": func(s *Store, tx *Tx) error { return s.Commit(t.Context(), "op#1", (*attachment)(tx)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, client := fakeStore(t, &Options{Outbox: "outbox"})
			tx := new(Tx)
			tx.Put("accounts", account{ID: "a", Balance: 5}, If(expression.Name("id").AttributeNotExists()))
			tx.Update("accounts", accountKey("b"), expression.Add(expression.Name("balance"), expression.Value(-5)),
				If(expression.Name("balance").GreaterThanEqual(expression.Value(5))), If(expression.Name("open").Equal(expression.Value(true))))
			tx.Delete("accounts", accountKey("c"))
			tx.Check("accounts", accountKey("d"), If(expression.Name("id").AttributeExists()))
			tx.Add(types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String("others"), Key: map[string]types.AttributeValue{"pk": number(1)}}})
			tx.Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "mail", Type: "paid", Body: []byte("1"), Attributes: map[string]string{"a": "b"}})
			tx.Publish(driver.OutboxMessage{Aggregate: "order-2", Destination: "mail", Body: []byte("2")})
			tx.Publish(driver.OutboxMessage{Aggregate: "order-1", Destination: "stock", Type: "sold"})
			frozen(t, tx)
			tx.created, tx.token = time.UnixMilli(1_700_000_000_000), "token"
			check.Must(t, call(s, tx))
			if len(client.sent) != 1 {
				t.Fatalf("%d requests, want 1", len(client.sent))
			}
			check.Golden(t, "testdata/transactions.golden", name, client.sent[0]+"\n", *updateGolden)
		})
	}
}

func creating(t *testing.T, r driver.Record, over time.Time) func(*Store) error {
	return func(s *Store) error { _, _, err := s.Create(t.Context(), r, over, nil); return err }
}

func changing(t *testing.T, f driver.Fence, c driver.Change) func(*Store) error {
	return func(s *Store) error { _, _, err := s.Change(t.Context(), f, c); return err }
}

// Every statement, word for word: its condition is that of the request of its own
// in the other golden files.
func TestGoldenStatements(t *testing.T) {
	lease, expires, began := time.UnixMilli(1_700_000_060_123), time.Unix(1_700_003_600, 0), time.UnixMilli(1_700_000_000_123)
	owned := driver.Fence{ID: "op#1", Owner: "me", Attempt: 2, Lease: lease}
	record := driver.Record{ID: "op#1", Status: driver.InProgress, Owner: "me", Attempt: 1, Lease: lease, Expires: expires, Began: began, Fingerprint: "f"}
	requested := record
	requested.Request = []byte(`{"amount":42}`)
	done := driver.Record{ID: "op#1", Status: driver.Completed, Owner: "me", Attempt: 1, Expires: expires, Fingerprint: "f", Data: []byte("42"), Refunds: 1}
	ended, declined := driver.Ending{At: time.UnixMilli(1_700_000_000_456)}, driver.Ending{At: time.UnixMilli(1_700_000_000_456), Type: "CardDeclined", Code: "51"}
	done.Ended = ended
	composite := &Options{Layout: Layout{ID: "pk", SortKey: "sk", Status: "state", Partition: "part", Shards: 7}}

	change := func(c driver.Change) func(*Store) *statement {
		return func(s *Store) *statement { return s.statementOf(c, s.updateOf(owned, c)) }
	}
	create := func(r driver.Record) func(*Store) *statement {
		return func(s *Store) *statement {
			item := s.format.Item(r)
			s.putResult(item, &r)
			return s.insert(r, item, lease)
		}
	}
	for name, c := range map[string]struct {
		options *Options
		build   func(*Store) *statement
	}{
		"create":           {nil, create(record)},
		"create_requested": {nil, create(requested)},
		"create_composite": {composite, create(record)},
		"create_completed": {nil, create(done)},
		"extend":           {nil, change(driver.Change{Lease: lease, Expires: expires})},
		"step":             {nil, change(driver.Change{Steps: map[string][]byte{"b": []byte("2"), "a.x": nil}})},
		"complete":         {nil, change(driver.Change{Status: driver.Completed, Data: []byte("42"), Expires: expires, Ended: ended})},
		"complete_nothing": {composite, change(driver.Change{Status: driver.Completed})},
		"fail_unavailable": {nil, change(driver.Change{Status: driver.Failed, Unavailable: "why", Expires: expires, Ended: declined})},
		"delete":           {nil, change(driver.Change{Release: driver.ReleaseDelete})},
		"delete_composite": {composite, change(driver.Change{Release: driver.ReleaseDelete})},
		"keep":             {nil, change(driver.Change{Release: driver.ReleaseKeep})},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, dynamodb.New(dynamodb.Options{}), "records", c.options)
			s.shareAll(1)
			st := c.build(s)
			if st == nil {
				t.Fatal("no statement")
			}
			values := make([]string, len(st.parameters))
			for i, v := range st.parameters {
				values[i] = showValue(v)
			}
			text := describe(st.permission, "text", st.text, "values", strings.Join(values, " "))
			check.Golden(t, "testdata/statements.golden", name, text+"\n", *updateGolden)
		})
	}
}
