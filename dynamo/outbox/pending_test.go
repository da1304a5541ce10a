package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/outboxitem"
)

// A scan returns a megabyte at a time.
func TestPendingReadsEveryPage(t *testing.T) {
	client, _, table, _ := newOutbox(t)
	for i := range 12 {
		item := outboxitem.Item{Aggregate: fmt.Sprintf("%02d", i), ID: "id",
			Messages: []driver.OutboxMessage{{ID: "id-0", Destination: "d", Body: make([]byte, 300<<10)}}}
		item.Created = time.UnixMilli(1)
		put(t, client, table, attribute.ItemOf(item.Encode()))
	}
	counted := &scans{Client: client}
	o, err := outbox.New(counted, table, nil)
	check.Must(t, err)
	got := pending(t, o, time.Now().Add(time.Hour))
	check.Equal(t, len(got), 12)
	check.True(t, counted.n >= 3, counted.n)
	check.True(t, counted.consistent)
	for _, err := range o.Pending(t.Context(), time.Now().Add(time.Hour)) {
		check.Nil(t, err)
		break
	}
}

type scans struct {
	outbox.Client
	n          int
	consistent bool
}

func (s *scans) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	s.n++
	s.consistent = aws.ToBool(in.ConsistentRead)
	return s.Client.Scan(ctx, in, o...)
}

func TestPendingContinuesAfterAnItemOfAnotherProgram(t *testing.T) {
	client, _, table, o := newOutbox(t)
	add := func(id string, messages types.AttributeValue) {
		item := map[string]types.AttributeValue{"aggregate": attribute.Text("a"), "id": attribute.Text(id), "created": attribute.Number(1)}
		if messages != nil {
			item["messages"] = messages
		}
		put(t, client, table, item)
	}
	whole := outboxitem.Item{Messages: []driver.OutboxMessage{{ID: "id", Destination: "d", Attributes: map[string]string{"a": "b"}}}}
	add("1", nil)
	add("2", &types.AttributeValueMemberL{Value: []types.AttributeValue{attribute.Text("secret")}})
	add("3", attribute.ItemOf(whole.Encode())["messages"])
	errs, good := 0, 0
	for item, err := range o.Pending(t.Context(), time.Now()) {
		var failed *dynamo.Error
		switch {
		case err == nil:
			good++
		case !errors.As(err, &failed) || failed.Op != "Scan" || strings.Contains(err.Error(), "secret") || !reflect.DeepEqual(item, outbox.Item{}):
			t.Errorf("%+v, %v", item, err)
		default:
			errs++
		}
	}
	check.Equal(t, errs, 2)
	check.Equal(t, good, 1)
}
