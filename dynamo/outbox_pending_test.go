package dynamo

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

	"github.com/lambda-once/once/internal/attribute"
	"github.com/lambda-once/once/internal/outboxitem"
)

// A scan answers a megabyte at a time.
func TestPendingInPages(t *testing.T) {
	client, table, outbox := newOutbox(t)
	s := newStore(t, client, table, &Options{Outbox: table, Attributes: Attributes{ID: "aggregate", SortKey: "id"}})
	for i := range 12 {
		tx := new(Tx)
		tx.Publish(Message{Aggregate: fmt.Sprintf("%02d", i), Destination: "d", Body: make([]byte, 300<<10)})
		if err := s.Commit(t.Context(), "op#1", sealed(t, tx)); err != nil {
			t.Fatal(err)
		}
	}
	counted := &scans{OutboxClient: client}
	outbox.client = counted
	if got := pending(t, outbox, time.Now().Add(time.Hour)); len(got) != 12 || counted.n < 3 || !counted.consistent {
		t.Errorf("%d items in %d scans, consistent %v", len(got), counted.n, counted.consistent)
	}
	for _, err := range outbox.Pending(t.Context(), time.Now().Add(time.Hour)) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

type scans struct {
	OutboxClient
	n          int
	consistent bool
}

func (s *scans) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	s.n++
	s.consistent = aws.ToBool(in.ConsistentRead)
	return s.OutboxClient.Scan(ctx, in, o...)
}

// An item of somebody else is an error of its own, and the rest goes on.
func TestPendingAmongStrangers(t *testing.T) {
	client, table, outbox := newOutbox(t)
	put := func(id string, messages types.AttributeValue) {
		item := map[string]types.AttributeValue{"aggregate": text("a"), "id": text(id), "created": number(1)}
		if messages != nil {
			item["messages"] = messages
		}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
	}
	broken := func(edit func(map[string]types.AttributeValue)) types.AttributeValue {
		item := outboxitem.Item{Messages: []outboxitem.Message{{ID: "id", Destination: "d", Attributes: map[string]string{"a": "b"}}}}
		messages := attribute.ItemOf(item.Encode())["messages"].(*types.AttributeValueMemberL)
		edit(messages.Value[0].(*types.AttributeValueMemberM).Value)
		return messages
	}
	put("1", nil)
	put("2", list(text("secret")))
	put("3", broken(func(m map[string]types.AttributeValue) { delete(m, "body") }))
	put("4", broken(func(m map[string]types.AttributeValue) { m["type"] = number(1) }))
	put("5", broken(func(m map[string]types.AttributeValue) { m["attributes"] = text("secret") }))
	put("6", broken(func(m map[string]types.AttributeValue) { delete(m, "destination") }))
	put("7", broken(func(map[string]types.AttributeValue) {}))
	errs, good := 0, 0
	for item, err := range outbox.Pending(t.Context(), time.Now()) {
		var failed *Error
		switch {
		case err == nil:
			good++
		case !errors.As(err, &failed) || failed.Op != "Scan" || strings.Contains(err.Error(), "secret") || !reflect.DeepEqual(item, OutboxItem{}):
			t.Errorf("%+v, %v", item, err)
		default:
			errs++
		}
	}
	if errs != 6 || good != 1 {
		t.Errorf("%d errors, %d items", errs, good)
	}
}
