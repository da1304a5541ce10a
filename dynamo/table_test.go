package dynamo

import (
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
	client, table := newTable(t, nil)
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
	client, table := newTable(t, nil)
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

func TestPartitionsOfCompositeKeys(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	for name, c := range map[string]struct {
		layout    Layout
		partition string
	}{
		"default partition": {Layout{SortKey: "sk"}, "idempotency#pay"},
		"own partition":     {Layout{SortKey: "sk", Partition: "p"}, "p"},
		"one shard":         {Layout{SortKey: "sk", Partition: "p", Shards: 1}, "p"},
		"shards":            {Layout{SortKey: "sk", Partition: "p", Shards: 4}, "p#"},
	} {
		s, shards := newStore(t, &fakeClient{}, "records", &Options{Layout: c.layout}), map[string]bool{}
		for i := range 40 {
			partition := s.format.Key(fmt.Sprintf("op#%d", i))["id"].(*types.AttributeValueMemberS).Value
			shards[partition] = true
			if !strings.HasPrefix(partition, c.partition) || c.layout.Shards < 2 && partition != c.partition {
				t.Errorf("%s: partition %q", name, partition)
			}
		}
		check.Equal(t, len(shards), max(c.layout.Shards, 1), name)
	}
}
