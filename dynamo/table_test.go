package dynamo

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestCreateTable(t *testing.T) {
	client, table := newTable(t)
	check.Nil(t, CreateTable(t.Context(), client, table, nil), "a second time")
	out, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	check.Nil(t, err)
	check.Equal(t, aws.ToString(out.TimeToLiveDescription.AttributeName), "expiration")
	for name, o := range map[string]Layout{
		"other name": {ID: "pk"}, "sort key": {SortKey: "sk"}, "other TTL": {Expiration: "ttl"},
	} {
		check.Failed(t, CreateTable(t.Context(), client, table, &Options{Layout: o}), "an existing table that does not fit is no error", name)
	}
	check.Failed(t, CreateTable(t.Context(), client, "t", &Options{Layout: Layout{Shards: 2}}), "options are not validated")
	err = CreateTable(t.Context(), client, "?", nil)
	e := check.As[*Error](t, err)
	check.Equal(t, e.Op, "CreateTable")
}

// The advice on a table with other keys, from DynamoDB's real refusals.
func TestTableWithOtherKeysIsExplained(t *testing.T) {
	client, table := newTable(t)
	for name, a := range map[string]Layout{"other name": {ID: "pk"}, "sort key": {SortKey: "sk"}} {
		s := newStore(t, client, table, &Options{Layout: a})
		want := "expect the partition key"
		if _, err := s.Get(t.Context(), "id"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, Get: %v", name, err)
		}
		_, _, err := s.Change(t.Context(), fence("id"), driver.Change{Release: driver.ReleaseDelete})
		check.Says(t, err, want, name)
	}
	s := newStore(t, client, table, &Options{Layout: Layout{ID: "pk"}})
	_, _, err := s.Create(t.Context(), claim("id"), time.Time{}, nil)
	check.Says(t, err, "expect the partition key")
	s = newStore(t, client, "missing", nil)
	_, err = s.Get(t.Context(), "id")
	check.Says(t, err, "does not exist")
}

func TestCompositeKeysAndRenamedAttributesWork(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	client := newClient(t)
	renamed := func(shards int) Layout {
		return Layout{
			Attempt: "a", Data: "d", Expiration: "e", ID: "pk", Lease: "l", Owner: "o", Partition: "p", Refunds: "r", Shards: shards, SortKey: "sk",
			Status: "s", Steps: "st", Validation: "v",
		}
	}
	for name, c := range map[string]struct {
		layout    Layout
		partition string
	}{
		"default partition": {Layout{SortKey: "sk"}, "idempotency#pay"},
		"own partition":     {renamed(0), "p"},
		"one shard":         {renamed(1), "p"},
		"shards":            {renamed(4), "p#"},
	} {
		t.Run(name, func(t *testing.T) {
			table := "t-" + rand.Text()
			o := &Options{Layout: c.layout}
			check.Must(t, CreateTable(t.Context(), client, table, o))
			s := newStore(t, client, table, o)
			shards := map[string]bool{}
			for i := range 40 {
				id := fmt.Sprintf("op#%d", i)
				create(t, s, claim(id))
				partition := s.format.Key(id)[s.format.Attr.ID].(*types.AttributeValueMemberS).Value
				shards[partition] = true
				if !strings.HasPrefix(partition, c.partition) || c.layout.Shards < 2 && partition != c.partition {
					t.Fatalf("partition %q", partition)
				}
			}
			check.Equal(t, len(shards), max(c.layout.Shards, 1))
			change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": []byte("1")}}, true)
			_, stored := change(t, s, fence("op#1"), driver.Change{Owner: rival, Lease: now, Expires: now.Add(time.Hour)}, true)
			check.Equal(t, stored.ID, "op#1")
			check.Equal(t, stored.Attempt, 2)
			check.Equal(t, len(stored.Steps), 1)
			change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Release: driver.ReleaseRefund}, true)
			_, stored = change(t, s, driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}, driver.Change{Owner: rival, Status: driver.Completed, Data: []byte("1")}, true)
			check.Equal(t, stored.Refunds, 1)
			check.Equal(t, string(stored.Data), "1")
			check.Equal(t, stored.Fingerprint, "f")
		})
	}
}
