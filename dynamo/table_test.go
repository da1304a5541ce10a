package dynamo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
)

func TestCreateTable(t *testing.T) {
	client, table := newTable(t)
	if err := CreateTable(t.Context(), client, table, nil); err != nil {
		t.Errorf("a second time: %v", err)
	}
	out, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || aws.ToString(out.TimeToLiveDescription.AttributeName) != "expiration" {
		t.Errorf("TTL: %+v, %v", out, err)
	}
	for name, o := range map[string]Attributes{
		"other name": {ID: "pk"}, "sort key": {SortKey: "sk"}, "other TTL": {Expiration: "ttl"},
	} {
		if err := CreateTable(t.Context(), client, table, &Options{Attributes: o}); err == nil {
			t.Errorf("%s: an existing table that does not fit is no error", name)
		}
	}
	if err := CreateTable(t.Context(), client, "t", &Options{Shards: 2}); err == nil {
		t.Error("options are not validated")
	}
	var e *Error
	if err := CreateTable(t.Context(), client, "?", nil); !errors.As(err, &e) || e.Op != "CreateTable" {
		t.Errorf("an impossible name: %v", err)
	}
}

// The advice on a table with other keys, from DynamoDB's real refusals.
func TestTableWithOtherKeysIsExplained(t *testing.T) {
	client, table := newTable(t)
	for name, a := range map[string]Attributes{"other name": {ID: "pk"}, "sort key": {SortKey: "sk"}} {
		s := newStore(t, client, table, &Options{Attributes: a})
		want := "expect the partition key"
		if _, err := s.Get(t.Context(), "id"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, Get: %v", name, err)
		}
		_, _, err := s.Change(t.Context(), fence("id"), driver.Change{Release: driver.ReleaseDelete})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, Change: %v", name, err)
		}
	}
	s := newStore(t, client, table, &Options{Attributes: Attributes{ID: "pk"}})
	if _, _, err := s.Create(t.Context(), claim("id"), time.Time{}, nil); err == nil || !strings.Contains(err.Error(), "expect the partition key") {
		t.Errorf("Create: %v", err)
	}
	s = newStore(t, client, "missing", nil)
	if _, err := s.Get(t.Context(), "id"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing table: %v", err)
	}
}

func TestCompositeKeysAndRenamedAttributesWork(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "pay")
	client := newClient(t)
	all := Attributes{
		Attempt: "a", Data: "d", Expiration: "e", ID: "pk", Lease: "l", Owner: "o", Refunds: "r", SortKey: "sk", Status: "s", Steps: "st", Validation: "v",
	}
	for name, c := range map[string]struct {
		o         Options
		partition string
	}{
		"default partition": {Options{Attributes: Attributes{SortKey: "sk"}}, "idempotency#pay"},
		"own partition":     {Options{Attributes: all, Partition: "p"}, "p"},
		"one shard":         {Options{Attributes: all, Partition: "p", Shards: 1}, "p"},
		"shards":            {Options{Attributes: all, Partition: "p", Shards: 4}, "p#"},
	} {
		t.Run(name, func(t *testing.T) {
			table := "t-" + rand.Text()
			if err := CreateTable(t.Context(), client, table, &c.o); err != nil {
				t.Fatal(err)
			}
			s := newStore(t, client, table, &c.o)
			shards := map[string]bool{}
			for i := range 40 {
				id := fmt.Sprintf("op#%d", i)
				create(t, s, claim(id))
				partition := s.format.Key(id)[s.format.Attr.ID].(*types.AttributeValueMemberS).Value
				shards[partition] = true
				if !strings.HasPrefix(partition, c.partition) || c.o.Shards < 2 && partition != c.partition {
					t.Fatalf("partition %q", partition)
				}
			}
			if len(shards) != max(c.o.Shards, 1) {
				t.Errorf("%d partitions", len(shards))
			}
			change(t, s, fence("op#1"), driver.Change{Steps: map[string][]byte{"a": []byte("1")}}, true)
			_, stored := change(t, s, fence("op#1"), driver.Change{Owner: rival, Lease: now, Expires: now.Add(time.Hour)}, true)
			if stored.ID != "op#1" || stored.Attempt != 2 || len(stored.Steps) != 1 {
				t.Errorf("%+v", stored)
			}
			change(t, s, driver.Fence{ID: "op#1", Owner: rival}, driver.Change{Release: driver.ReleaseRefund}, true)
			_, stored = change(t, s, driver.Fence{ID: "op#1", Attempt: 2, Lease: driver.LeaseEnded}, driver.Change{Owner: rival, Status: driver.Completed, Data: []byte("1")}, true)
			if stored.Refunds != 1 || string(stored.Data) != "1" || stored.Fingerprint != "f" {
				t.Errorf("%+v", stored)
			}
		})
	}
}
