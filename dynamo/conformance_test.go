package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// Data: Native keeps values and not their spelling, so it is tested by itself.
func TestConformance(t *testing.T) {
	schedules := 70
	if testing.Short() {
		schedules = 20
	}
	for name, o := range map[string]*Options{
		"one key":   nil,
		"composite": {Layout: Layout{ID: "pk", SortKey: "sk", Partition: "idempotency#f", Shards: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if o == nil && testing.Short() {
				t.Skip("a composite key has more to get wrong")
			}
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				client := newClient(t)
				table := tableName(t)
				check.Must(t, CreateTable(t.Context(), client, table, o))
				s := newStore(t, client, table, o)
				return storetest.Harness{Store: s, Plant: s.plant, Attach: s.attach, Schedules: schedules}
			})
		})
	}
}

// Options that change the words of a statement are tested by themselves.
func TestConformanceWithGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		o := &Options{Layout: Layout{ID: "pk", SortKey: "sk", Status: "state", Partition: "idempotency#f", Shards: 3}}
		s := inOwnTable(t, o)
		s.shareAll(4)
		return storetest.Harness{Store: s, Plant: s.plant, Attach: s.attach, Schedules: 20}
	})
}

// attach adds to a counter in the store's own table.
func (s *Store) attach(t *testing.T, refused bool) (driver.Attachment, func() int) {
	t.Helper()
	counter, tx := s.counter(t), new(Tx)
	var conditions []Condition
	if refused {
		conditions = append(conditions, If(expression.Name("n").GreaterThan(expression.Value(1000))))
	}
	tx.Update(s.table, counter.key, expression.Add(expression.Name("n"), expression.Value(1)), conditions...)
	return (*attachment)(tx), counter.value
}

// plant writes a record as it is.
func (s *Store) plant(t *testing.T, r driver.Record) {
	t.Helper()
	if r.Status == driver.Absent {
		_, err := s.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &s.table, Key: s.format.Key(r.ID)})
		check.Must(t, err)
		return
	}
	item := s.format.Item(r)
	s.putResult(item, &r)
	if r.Steps == nil {
		delete(item, s.format.Attr.Steps)
	} else {
		item[s.format.Attr.Steps] = s.format.Steps(r.Steps)
	}
	putItem(t, s, item)
}
