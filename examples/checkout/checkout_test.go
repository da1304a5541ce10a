package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/redis/redislocal"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		program.Start(setUpRole)
	}
	withRedis := serving.Tests(func() int { return redislocal.Main(m, nil) })
	withPostgreSQL := serving.Tests(func() int { return postgreslocal.Main(withRedis) })
	os.Exit(deployed.Main(func() int { return dynamodblocal.Main(withPostgreSQL) }))
}

// function is the compiled function with tables and services of its own.
type function struct {
	*lambdaruntime.Runtime
	client   *dynamodb.Client
	records  string // the names of the tables
	orders   string
	outbox   string
	services *providers.Providers
}

func deploy(t *testing.T, environments int) *function {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, orders := dynamodblocal.NewTable(t) // its key is an id too
	f := &function{client: client, records: records, orders: orders, outbox: "outbox-" + records, services: providers.New()}
	check.Must(t, outbox.CreateTable(t.Context(), client, f.outbox))
	server := httptest.NewServer(f.services)
	t.Cleanup(server.Close)
	f.Runtime = deployed.Start(t, lambdaruntime.Function{Name: "checkout", Environments: environments},
		"IDEMPOTENCY_TABLE="+records, "ORDERS_TABLE="+orders, "OUTBOX_TABLE="+f.outbox, "PROVIDER_URL="+server.URL)
	return f
}

func theOrder(id string) order {
	return order{OrderID: id, Customer: "c-1", SKU: "cup", Quantity: 2, Amount: 1299, Card: "card_1"}
}

// place sends an order again until no attempt is in progress: the lease of one that is
// dead has to lapse.
func (f *function) place(t *testing.T, o order) (r receipt, err error) {
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if r, err = deployed.Call[receipt](t.Context(), f, o); deployed.Failure(err) != "InProgressError" {
			break
		}
	}
	return r, err
}

// want compares the effects of the services, and whether there is an order,
// which there never is without its message.
func (f *function) want(t *testing.T, placed int, paths ...string) {
	t.Helper()
	f.wantDone(t, paths...)
	f.wantStored(t, placed, placed)
}

// wantDone compares the effects of the services.
func (f *function) wantDone(t *testing.T, paths ...string) {
	t.Helper()
	var done []string
	for _, e := range f.services.Effects() {
		done = append(done, e.Path)
	}
	check.Slice(t, done, paths, "the services have done")
}

func (f *function) wantStored(t *testing.T, orders, messages int) {
	t.Helper()
	check.Equal(t, len(deployed.Items(t, f.client, f.orders)), orders, "orders")
	check.Equal(t, len(deployed.Items(t, f.client, f.outbox)), messages, "messages")
}

func TestOneOrder(t *testing.T) {
	f := deploy(t, 4)
	answers := make(chan receipt, 8)
	for i := range cap(answers) {
		go func() {
			r, err := f.place(t, theOrder("o-1"))
			check.Nil(t, err, "duplicate", i)
			answers <- r
		}()
	}
	first := <-answers
	for range cap(answers) - 1 {
		check.Equal(t, <-answers, first)
	}
	want := receipt{OrderID: "o-1", Customer: "c-1", Amount: 1299, Reservation: "reservations-1", Charge: "charges-2"}
	check.Equal(t, first, want)
	f.want(t, 1, "/reservations", "/charges")

	var message struct {
		Aggregate string `dynamodbav:"aggregate"`
		Messages  []struct {
			Destination string `dynamodbav:"destination"`
			Type        string `dynamodbav:"type"`
			Body        []byte `dynamodbav:"body"`
		} `dynamodbav:"messages"`
	}
	if err := attributevalue.UnmarshalMap(deployed.Items(t, f.client, f.outbox)[0], &message); err != nil || len(message.Messages) != 1 {
		t.Fatal(message, err)
	}
	var said receipt
	m := message.Messages[0]
	if err := json.Unmarshal(m.Body, &said); err != nil || said != want || message.Aggregate != "c-1/o-1" || m.Destination != "order-events" || m.Type != "OrderPlaced" {
		t.Errorf("the message is %+v %s, %v", message, m.Body, err)
	}
}

func TestOutOfStock(t *testing.T) {
	f := deploy(t, 1)
	o := theOrder("o-1")
	o.SKU = providers.SoldOut
	if _, err := f.place(t, o); deployed.Failure(err) != "OutOfStockError" {
		t.Errorf("got %v", err)
	}
	f.want(t, 0)
}

// A service that is still busy with the first request of a killed attempt has not
// refused it: a permanent error would leave its charge behind.
func TestAServiceThatIsBusyIsAskedAgain(t *testing.T) {
	for status, permanent := range map[int]bool{http.StatusConflict: false, http.StatusTooManyRequests: false, http.StatusGone: true, http.StatusPaymentRequired: true} {
		x, err := idempotent.New("charge", memory.New(0), nil)
		check.Must(t, err)
		requests := 0
		for range 2 { // one that is permanent is not run again
			_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "o-1"}, func(context.Context) (bool, error) {
				requests++
				return false, refused("/charges", status)
			})
		}
		if err == nil || (requests == 1) != permanent {
			t.Errorf("%d: %d requests, %v", status, requests, err)
		}
	}
}

// The transaction is refused when both steps are done: both are undone, the
// last one first.
func TestAnOrderThatExistsIsUndone(t *testing.T) {
	f := deploy(t, 1)
	_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.orders, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "c-1/o-1"},
	}})
	check.Must(t, err)
	for range 2 {
		if _, err := f.place(t, theOrder("o-1")); deployed.Failure(err) != "OrderExistsError" {
			t.Errorf("got %v", err)
		}
	}
	var done []string
	for _, e := range f.services.Effects() {
		done = append(done, e.Path+" "+e.ID)
	}
	check.Slice(t, done, []string{"/reservations reservations-1", "/charges charges-2", "/refunds charges-2", "/releases reservations-1"})
	f.wantStored(t, 1, 0)
}

// The services remember their keys for longer than the retention of the record.
// They then return the charge of the placed order: to undo it would refund the
// order without cancelling it.
func TestAnOrderWhoseRecordIsOverKeepsItsCharge(t *testing.T) {
	f := deploy(t, 1)
	first, err := f.place(t, theOrder("o-1"))
	check.Must(t, err)
	for _, record := range deployed.Items(t, f.client, f.records) {
		_, err := f.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.records, Key: map[string]types.AttributeValue{"id": record["id"]}})
		check.Must(t, err)
	}
	if again, err := f.place(t, theOrder("o-1")); err != nil || again != first {
		t.Errorf("got %+v, %v, want %+v", again, err, first)
	}
	f.wantDone(t, "/reservations", "/charges")
	f.wantStored(t, 1, 2) // each run has a message of its own, and overwrites none
}

// A slash in an id does not make one order of two.
func TestOrdersOfTwoCustomers(t *testing.T) {
	f := deploy(t, 1)
	for _, o := range []order{{Customer: "a/b", OrderID: "c"}, {Customer: "a", OrderID: "b/c"}} {
		o.SKU, o.Quantity, o.Amount, o.Card = "cup", 2, 1299, "card_1"
		if _, err := f.place(t, o); err != nil {
			t.Errorf("%s of %s: %v", o.OrderID, o.Customer, err)
		}
	}
	f.want(t, 2, "/reservations", "/charges", "/reservations", "/charges")
}

// The same order id with a different amount is a mistake. Of a different customer it is
// a new order.
func TestKeys(t *testing.T) {
	f := deploy(t, 1)
	mistaken, others := theOrder("o-1"), theOrder("o-1")
	mistaken.Amount, others.Customer = 1, "c-2"
	for _, c := range []struct {
		order order
		want  string
	}{{theOrder("o-1"), "<nil>"}, {mistaken, "KeyReusedError"}, {others, "<nil>"}, {order{Customer: "c-1"}, "MissingKeyError"}} {
		if _, err := f.place(t, c.order); deployed.Failure(err) != c.want {
			t.Errorf("%+v: got %v, want %q", c.order, err, c.want)
		}
	}
	f.want(t, 2, "/reservations", "/charges", "/reservations", "/charges")
}
