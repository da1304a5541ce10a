package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
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
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(m) }))
}

// queue implements SendMessageBatch, and stores the accepted messages.
type queue struct {
	mu       sync.Mutex
	accepted []message
	refuse   map[string]bool // message groups
}

type message struct {
	ID                     string `json:"Id"`
	MessageBody            string
	MessageGroupID         string `json:"MessageGroupId"`
	MessageDeduplicationID string `json:"MessageDeduplicationId"`
	MessageAttributes      map[string]struct{ StringValue string }
}

func (q *queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Entries []message }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
		http.Error(w, "it is not a batch", http.StatusBadRequest)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	succeeded, failed := []any{}, []any{}
	for _, m := range in.Entries {
		if q.refuse[m.MessageGroupID] {
			failed = append(failed, map[string]any{"Id": m.ID, "Code": "InternalError", "SenderFault": false})
			continue
		}
		sum := md5.Sum([]byte(m.MessageBody)) // the SDK checks it
		succeeded = append(succeeded, map[string]any{"Id": m.ID, "MessageId": m.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		q.accepted = append(q.accepted, m)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Successful": succeeded, "Failed": failed})
}

func (q *queue) all() []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]message(nil), q.accepted...)
}

func (q *queue) refuses(groups ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refuse = map[string]bool{}
	for _, g := range groups {
		q.refuse[g] = true
	}
}

// function is the compiled function, with an outbox and a queue of its own.
type function struct {
	*lambdaruntime.Runtime
	*queue
	t       *testing.T
	client  *dynamodb.Client
	records string
	outbox  string
}

func deploy(t *testing.T) *function {
	t.Helper()
	f := &function{t: t, queue: new(queue)}
	f.client, f.records = dynamodblocal.NewTable(t)
	f.outbox = "outbox-" + f.records
	check.Must(t, dynamooutbox.CreateTable(t.Context(), f.client, f.outbox))
	server := httptest.NewServer(f.queue)
	t.Cleanup(server.Close)
	f.Runtime = deployed.Start(t, lambdaruntime.Function{Name: "relay"},
		"OUTBOX_TABLE="+f.outbox, "ORDER_EVENTS_QUEUE="+server.URL+"/1/order-events.fifo", "AWS_ENDPOINT_URL_SQS="+server.URL)
	return f
}

// publish writes messages of an order to the outbox, as a handler does.
func (f *function) publish(order string, bodies ...string) {
	f.t.Helper()
	store, err := dynamo.New(f.client, f.records, &dynamo.Options{Outbox: f.outbox})
	if err != nil {
		f.t.Fatal(err)
	}
	x, err := idempotent.New("checkout", store, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = idempotent.Do(f.t.Context(), x, idempotent.Key{ID: order}, func(ctx context.Context) (any, error) {
		for _, body := range bodies {
			dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: order, Destination: "order-events", Type: "OrderPlaced", Body: []byte(body)})
		}
		return nil, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// items of the outbox by aggregate, and event as the stream has them, in that
// order.
func (f *function) items() map[string]map[string]types.AttributeValue {
	f.t.Helper()
	items := map[string]map[string]types.AttributeValue{}
	for _, item := range deployed.Items(f.t, f.client, f.outbox) {
		items[item["aggregate"].(*types.AttributeValueMemberS).Value] = item
	}
	return items
}

func (f *function) event(orders ...string) any {
	f.t.Helper()
	var records []any
	items := f.items()
	for i, order := range orders {
		image := f.image(&types.AttributeValueMemberM{Value: items[order]})["M"].(map[string]any)
		keys := maps.Clone(image)
		maps.DeleteFunc(keys, func(name string, _ any) bool { return name != "aggregate" && name != "id" })
		records = append(records, map[string]any{
			"eventID": strconv.Itoa(i), "eventName": "INSERT", "eventSource": "aws:dynamodb",
			"dynamodb": map[string]any{"Keys": keys, "NewImage": image, "SequenceNumber": strconv.Itoa(100 + i), "StreamViewType": "NEW_IMAGE"},
		})
	}
	return map[string]any{"Records": records}
}

// image returns an attribute value as in events.
func (f *function) image(v types.AttributeValue) map[string]any {
	f.t.Helper()
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberL:
		list := []any{}
		for _, e := range v.Value {
			list = append(list, f.image(e))
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, e := range v.Value {
			m[name] = f.image(e)
		}
		return map[string]any{"M": m}
	}
	f.t.Fatalf("the outbox has a %T", v)
	return nil
}

func (f *function) relay(event any) []events.DynamoDBBatchItemFailure {
	f.t.Helper()
	report, err := deployed.Call[events.DynamoDBEventResponse](f.t.Context(), f, event)
	if err != nil {
		f.t.Fatal(err)
	}
	return report.BatchItemFailures
}

// said returns the bodies with their message groups.
func said(messages []message) (all []string) {
	for _, m := range messages {
		all = append(all, m.MessageGroupID+": "+m.MessageBody)
	}
	return all
}

func TestRelay(t *testing.T) {
	f := deploy(t)
	f.publish("o-1", `{"n":1}`, `{"n":2}`)
	if failed := f.relay(f.event("o-1")); len(failed) != 0 {
		t.Errorf("it reports %v", failed)
	}
	messages := f.all()
	if got, want := fmt.Sprint(said(messages)), `[o-1: {"n":1} o-1: {"n":2}]`; got != want {
		t.Fatalf("published %s, want %s", got, want)
	}
	item := f.items()["o-1"]
	id := item["id"].(*types.AttributeValueMemberS).Value
	for i, m := range messages {
		if m.MessageDeduplicationID != id+"-"+strconv.Itoa(i) || m.MessageAttributes["type"].StringValue != "OrderPlaced" {
			t.Errorf("got %+v", m)
		}
	}
	if item["published"] == nil || item["expiration"] == nil {
		t.Errorf("it is not marked: %v", item)
	}
}

// A message that is published again after a crash has the same deduplication ID.
func TestRelayedTwice(t *testing.T) {
	f := deploy(t)
	f.publish("o-1", "first")
	event := f.event("o-1")
	f.relay(event)
	check.Must(t, f.Environment(0).Kill())
	f.relay(event)
	messages := f.all()
	if len(messages) != 2 || messages[0].MessageDeduplicationID != messages[1].MessageDeduplicationID {
		t.Errorf("got %+v", messages)
	}
}

// A refused message is reported, stays unmarked, and delays no further order.
func TestARefusedMessage(t *testing.T) {
	f := deploy(t)
	f.publish("o-1", "one")
	f.publish("o-2", "two")
	event := f.event("o-1", "o-2")
	f.refuses("o-1")
	if failed := f.relay(event); len(failed) != 1 || failed[0].ItemIdentifier != "100" {
		t.Errorf("it reports %v", failed)
	}
	items := f.items()
	if items["o-1"]["published"] != nil || items["o-2"]["published"] == nil {
		t.Errorf("the outbox has %v", items)
	}
	f.refuses()
	if failed := f.relay(event); len(failed) != 0 {
		t.Errorf("it reports %v", failed)
	}
	if got, want := fmt.Sprint(said(f.all())), "[o-2: two o-1: one]"; got != want {
		t.Errorf("published %s, want %s", got, want)
	}
}
