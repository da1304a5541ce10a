package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// oddNames are names that an expression or a statement could mistake for something else.
var oddNames = Layout{
	Attempt: "Owner", Data: "a.b", Expiration: "OWNER", ID: "key", Lease: "select", Owner: "a b", Refunds: "?", Status: "status", Steps: "ステップ", Validation: "--",
	SortKey: "a[0]", Partition: "p", Shards: 3,
}

// Data: Native keeps values and not their spelling, so it is tested by itself.
func TestConformance(t *testing.T) {
	schedules := 70
	if testing.Short() {
		schedules = 20
	}
	for name, c := range map[string]struct {
		options *Options
		shared  bool
	}{
		"defaults":                 {},
		"composite, with an index": {options: &Options{Layout: oddNames, Resume: true}},
		"composite, grouped":       {options: &Options{Layout: oddNames}, shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.options == nil && testing.Short() {
				t.Skip("a composite key has more to get wrong")
			}
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				s := inOwnTable(t, c.options)
				if c.shared {
					s.shareAll(4)
				}
				return storetest.Harness{Store: resuming{s}, Plant: s.plant, Attach: s.attach, Schedules: schedules}
			})
		})
	}
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
