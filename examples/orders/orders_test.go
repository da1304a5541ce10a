package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
}

// function is the compiled function with tables of its own.
type function struct {
	*lambdaruntime.Runtime
	client          *dynamodb.Client
	records, orders string
}

// deploy deploys the function with a timeout; 0 is 10 s.
func deploy(t *testing.T, timeout time.Duration, env ...string) function {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, orders := dynamodblocal.NewTable(t) // its key is an id too
	env = append([]string{"IDEMPOTENCY_TABLE=" + records, "ORDERS_TABLE=" + orders}, env...)
	return function{deployed.Start(t, lambdaruntime.Function{Name: "orders", Environments: 2, Timeout: timeout}, env...), client, records, orders}
}

// executions returns all items, in no order.
func (f function) executions(t *testing.T) (list []execution) {
	t.Helper()
	check.Must(t, attributevalue.UnmarshalListOfMaps(deployed.Items(t, f.client, f.orders), &list))
	return list
}

// message is a message of the queue: its ID and its body.
type message [2]string

// orders returns the messages of orders.
func orders(from, to int) (batch []message) {
	for i := from; i < to; i++ {
		batch = append(batch, message{fmt.Sprint("m", i), fmt.Sprintf(`{"orderId":"o-%d","sku":"cup","quantity":1}`, i)})
	}
	return batch
}

// deliver returns the response that Lambda receives.
func deliver(ctx context.Context, to deployed.Invoker, batch ...message) (string, error) {
	var e events.SQSEvent
	for _, m := range batch {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: m[0], Body: m[1], EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:orders",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}
	r, err := deployed.Call[json.RawMessage](ctx, to, e)
	return string(r), err
}

const (
	cup       = `{"orderId":"o-1","sku":"cup","quantity":2}`
	plate     = `{"orderId":"o-2","sku":"plate","quantity":1}`
	nothing   = `{"orderId":"o-3","sku":"plate","quantity":0}`
	allPlaced = `{"batchItemFailures":[]}`
)

func TestOneOrderAnID(t *testing.T) {
	f := deploy(t, 0)
	for i, batch := range [][]message{
		{{"m1", cup}, {"m2", plate}, {"m3", cup}}, // sent twice, delivered together
		{{"m1", cup}}, // delivered again
		{{"m4", `{"quantity": 2, "sku":"cup", "orderId":"o-1"}`}}, // sent again, spelled differently
		{{"m5", plate}, {"m6", cup}, {"m7", plate}, {"m8", cup}},  // and again
	} {
		if got, err := deliver(t.Context(), f.Environment(i%2), batch...); err != nil || got != allPlaced {
			t.Errorf("batch %d: %s, %v", i, got, err)
		}
	}
	var ids []string
	for _, e := range f.executions(t) {
		ids = append(ids, e.OrderID)
		if e.Status != placed || e.Attempt != 1 || e.Process != f.Environment(0).LogStream() {
			t.Errorf("got %+v", e)
		}
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"o-1", "o-2"}) {
		t.Errorf("executed: %v", ids)
	}
}

// Only failed messages are redelivered, and permanent failures do not run again.
func TestPartialFailures(t *testing.T) {
	f := deploy(t, 0)
	if got, err := deliver(t.Context(), f, message{"m0", cup}); err != nil || got != allPlaced {
		t.Fatalf("%s, %v", got, err)
	}
	batch := []message{
		{"m1", plate},
		{"m2", nothing},
		{"m3", `{"orderId":"o-1","sku":"cup","quantity":3}`}, // the id of a different order
		{"m4", `{"sku":"cup","quantity":3}`},
		{"m5", `quantity=3`},
		{"m6", cup},
	}
	want := `{"batchItemFailures":[{"itemIdentifier":"m2"},{"itemIdentifier":"m3"},{"itemIdentifier":"m4"},{"itemIdentifier":"m5"}]}`
	for i := range 2 {
		if got, err := deliver(t.Context(), f.Environment(i), batch...); err != nil || got != want {
			t.Errorf("delivery %d: %s, %v\nwant %s", i, got, err, want)
		}
	}
	status := map[string]string{}
	list := f.executions(t)
	for _, e := range list {
		status[e.OrderID] = e.Status
	}
	if len(list) != 3 || status["o-1"] != placed || status["o-2"] != placed || status["o-3"] != rejected {
		t.Errorf("executed: %+v", list)
	}
}
