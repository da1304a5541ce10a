package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	dynamooutbox "github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/orderevents"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
}

// function is the compiled function, with an outbox and a queue of its own.
type function struct {
	*lambdaruntime.Runtime
	*orderevents.Queue
	t       *testing.T
	client  *dynamodb.Client
	records string
	outbox  string
}

func deploy(t *testing.T) *function {
	t.Helper()
	f := &function{t: t, Queue: new(orderevents.Queue)}
	f.client, f.records = dynamodblocal.NewTable(t)
	f.outbox = "outbox-" + f.records
	check.Must(t, dynamooutbox.CreateTable(t.Context(), f.client, f.outbox))
	server := httptest.NewServer(f.Queue)
	t.Cleanup(server.Close)
	f.Runtime = deployed.Start(t, lambdaruntime.Function{Name: "relay"},
		"OUTBOX_TABLE="+f.outbox, "ORDER_EVENTS_QUEUE="+server.URL+"/1/order-events.fifo", "AWS_ENDPOINT_URL_SQS="+server.URL)
	return f
}

// publish writes messages of an order to the outbox, as a handler does.
func (f *function) publish(order string, bodies ...string) {
	f.t.Helper()
	store, err := dynamo.New(f.client, f.records, &dynamo.Options{Outbox: f.outbox})
	check.Must(f.t, err)
	x, err := idempotent.New("checkout", store, nil)
	check.Must(f.t, err)
	_, err = idempotent.Do(f.t.Context(), x, idempotent.Key{ID: order}, func(ctx context.Context) (any, error) {
		for _, body := range bodies {
			dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: order, Destination: "order-events", Type: "OrderPlaced", Body: []byte(body)})
		}
		return nil, nil
	})
	check.Must(f.t, err)
}

// items of the outbox by aggregate.
func (f *function) items() map[string]map[string]types.AttributeValue {
	f.t.Helper()
	items := map[string]map[string]types.AttributeValue{}
	for _, item := range deployed.Items(f.t, f.client, f.outbox) {
		items[item["aggregate"].(*types.AttributeValueMemberS).Value] = item
	}
	return items
}

// event is what the stream has of the orders, in this order.
func (f *function) event(orders ...string) (event events.DynamoDBEvent) {
	f.t.Helper()
	items := f.items()
	for i, order := range orders {
		event.Records = append(event.Records, orderevents.Inserted(i, items[order]))
	}
	return event
}

func (f *function) relay(event events.DynamoDBEvent) []events.DynamoDBBatchItemFailure {
	f.t.Helper()
	report, err := deployed.Call[events.DynamoDBEventResponse](f.t.Context(), f, event)
	check.Must(f.t, err)
	return report.BatchItemFailures
}

// said returns the bodies with their message groups.
func said(messages []orderevents.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.Group+": "+m.Body)
	}
	return all
}

func TestRelay(t *testing.T) {
	f := deploy(t)
	f.publish("o-1", `{"n":1}`, `{"n":2}`)
	if failed := f.relay(f.event("o-1")); len(failed) != 0 {
		t.Errorf("it reports %v", failed)
	}
	messages := f.Messages()
	if got, want := fmt.Sprint(said(messages)), `[o-1: {"n":1} o-1: {"n":2}]`; got != want {
		t.Fatalf("published %s, want %s", got, want)
	}
	item := f.items()["o-1"]
	id := item["id"].(*types.AttributeValueMemberS).Value
	for i, m := range messages {
		if m.DeduplicationID != id+"-"+strconv.Itoa(i) || m.Attributes["type"].StringValue != "OrderPlaced" {
			t.Errorf("got %+v", m)
		}
	}
	if item["published"] == nil || item["expiration"] == nil {
		t.Errorf("it is not marked: %v", item)
	}
}

// A refused message is reported, stays unmarked, and delays no further order.
func TestARefusedMessage(t *testing.T) {
	f := deploy(t)
	f.publish("o-1", "one")
	f.publish("o-2", "two")
	event := f.event("o-1", "o-2")
	f.Refuse("o-1")
	if failed := f.relay(event); len(failed) != 1 || failed[0].ItemIdentifier != "100" {
		t.Errorf("it reports %v", failed)
	}
	items := f.items()
	if items["o-1"]["published"] != nil || items["o-2"]["published"] == nil {
		t.Errorf("the outbox has %v", items)
	}
	f.Refuse()
	if failed := f.relay(event); len(failed) != 0 {
		t.Errorf("it reports %v", failed)
	}
	if got, want := fmt.Sprint(said(f.Messages())), "[o-2: two o-1: one]"; got != want {
		t.Errorf("published %s, want %s", got, want)
	}
}
