package dynamo

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Every statement, word for word: its condition is that of the request of its own
// in the other golden files.
func TestGoldenStatements(t *testing.T) {
	lease, expires := time.UnixMilli(1_700_000_060_123), time.Unix(1_700_003_600, 0)
	owned := driver.Fence{ID: "op#1", Owner: "me", Attempt: 2, Lease: lease}
	record := driver.Record{ID: "op#1", Status: driver.InProgress, Owner: "me", Attempt: 1, Lease: lease, Expires: expires, Fingerprint: "f"}
	done := driver.Record{ID: "op#1", Status: driver.Completed, Owner: "me", Attempt: 1, Expires: expires, Fingerprint: "f", Data: []byte("42"), Refunds: 1}
	composite := &Options{Attributes: Attributes{ID: "pk", SortKey: "sk", Status: "state"}, Partition: "part", Shards: 7}

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
		"create_composite": {composite, create(record)},
		"create_completed": {nil, create(done)},
		"extend":           {nil, change(driver.Change{Lease: lease, Expires: expires})},
		"step":             {nil, change(driver.Change{Steps: map[string][]byte{"b": []byte("2"), "a.x": nil}})},
		"complete":         {nil, change(driver.Change{Status: driver.Completed, Data: []byte("42"), Expires: expires})},
		"complete_nothing": {composite, change(driver.Change{Status: driver.Completed})},
		"fail_unavailable": {nil, change(driver.Change{Status: driver.Failed, Unavailable: "why", Expires: expires})},
		"delete":           {nil, change(driver.Change{Release: driver.ReleaseDelete})},
		"delete_composite": {composite, change(driver.Change{Release: driver.ReleaseDelete})},
		"keep":             {nil, change(driver.Change{Release: driver.ReleaseKeep})},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sharedStore(t, c.options)
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

// sharedStore is a store whose client has no answers.
func sharedStore(t *testing.T, o *Options) (*Store, *dynamodb.Client) {
	t.Helper()
	client := dynamodb.New(dynamodb.Options{})
	s := loneStore(t, client, "records", o)
	s.shareAll(1)
	return s, client
}
