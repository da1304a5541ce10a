package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// A variant of the function stores requests, and another one resumes what it has left
// behind. The binary of the test is both: $CHECKOUT_VARIANT says which.
const variantVariable = "CHECKOUT_VARIANT"

func setUpVariant(ctx context.Context) (lambda.Handler, error) {
	shop, err := newShop()
	if err != nil {
		return nil, err
	}
	store, err := dynamoenv.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("checkout", store, &idempotent.Config{RefuseLate: true, ProviderMemory: 24 * time.Hour, Resume: true, Observer: idempotent.NoObserver{}})
	if err != nil {
		return nil, err
	}
	if os.Getenv(variantVariable) == "resumer" {
		return lambda.NewHandler(handlers.Resume(handlers.Resumed(x, key, shop.checkout), &handlers.ResumeOptions{ReleasedAfter: time.Millisecond})), nil
	}
	return lambda.NewHandler(handlers.Invoke(x, key, shop.checkout)), nil
}

// abandoned is an order whose client goes away.
type abandoned struct {
	*testing.T
	client                  *dynamodb.Client
	records, orders, outbox string
	services                *providers.Providers
	url                     string
}

func newAbandoned(t *testing.T) *abandoned {
	t.Helper()
	client, records := dynamodblocal.NewTable(t)
	_, orders := dynamodblocal.NewTable(t)
	a := &abandoned{T: t, client: client, records: records, orders: orders, outbox: "outbox-" + records, services: providers.New()}
	check.Must(t, outbox.CreateTable(t.Context(), client, a.outbox))
	server := httptest.NewServer(a.services)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// invoke invokes a variant once, in a process that is killed at a call, or at none.
func (a *abandoned) invoke(variant string, event any, number int, at lambdaruntime.Point) (calls []lambdaruntime.Call, answer lambdaruntime.Response, crashed bool) {
	a.Helper()
	wire := lambdaruntime.NewWire()
	endpoint, err := wire.To("dynamodb", os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	check.Must(a, err)
	services, err := wire.To("services", a.url)
	check.Must(a, err)
	if number > 0 {
		wire.KillAt(number, at)
	}
	binary, err := os.Executable()
	check.Must(a, err)
	function, err := lambdaruntime.Start(a.Context(), lambdaruntime.Function{
		Name: variant, Binary: binary, Timeout: leaseOfVariant - time.Second, InitTimeout: time.Minute, Wire: wire,
		Env: []string{
			variantVariable + "=" + variant, "AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "PROVIDER_URL=" + services,
			"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_REGION=us-east-1",
			"IDEMPOTENCY_TABLE=" + a.records, "ORDERS_TABLE=" + a.orders, "OUTBOX_TABLE=" + a.outbox,
		},
	})
	check.Must(a, err)
	payload, err := json.Marshal(event)
	check.Must(a, err)
	answer, err = function.Invoke(a.Context(), payload)
	_, crashed = errors.AsType[*lambdaruntime.CrashedError](err)
	_, never := errors.AsType[*lambdaruntime.InitError](err)
	if crashed = crashed || never; !crashed {
		check.Must(a, err)
	}
	calls = wire.Calls()
	check.Nil(a, errors.Join(function.Close(), wire.Close()))
	return calls, answer, crashed
}

// leaseOfVariant is the longest lease of a variant: its timeout, and the skew of clocks.
const leaseOfVariant = 9 * time.Second

// lapse ends the leases of the dead by hand, so that no test waits for them.
func (a *abandoned) lapse() {
	a.Helper()
	for _, item := range deployed.Items(a.T, a.client, a.records) {
		if _, runs := item["in_progress_expiration"]; !runs {
			continue
		}
		update := "SET in_progress_expiration = :past"
		_, err := a.client.UpdateItem(a.Context(), &dynamodb.UpdateItemInput{
			TableName: &a.records, Key: map[string]types.AttributeValue{"id": item["id"]}, UpdateExpression: &update,
			ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Minute).UnixMilli(), 10)}},
		})
		check.Must(a, err)
	}
}

// ended describes what is left: the state of the record and all effects.
func (a *abandoned) ended() string {
	a.Helper()
	state := "no record"
	for _, item := range deployed.Items(a.T, a.client, a.records) {
		status, _ := item["status"].(*types.AttributeValueMemberS)
		state = status.Value
		if _, left := item["request"]; left && state != "INPROGRESS" {
			state += " with its request"
		}
	}
	for _, e := range a.services.Effects() {
		state += " " + e.Path
	}
	return fmt.Sprintf("%s, orders %d, messages %d", state, len(deployed.Items(a.T, a.client, a.orders)), len(deployed.Items(a.T, a.client, a.outbox)))
}

// The function is killed before and after each of its calls, and its client never comes
// back. In the first round of the resumer there are two at once, one of which is killed as
// well, each time somewhere else.
func TestAbandonedOrdersAreFinishedOrUndone(t *testing.T) {
	for name, test := range map[string]struct{ card, done string }{
		"finished": {"card_1", "COMPLETED /reservations /charges, orders 1, messages 1"},
		"undone":   {providers.Declined, "FAILED /reservations /releases, orders 0, messages 0"},
	} {
		o := theOrder("o-1")
		o.Card = test.card
		calm := newAbandoned(t)
		calls, _, _ := calm.invoke("function", o, 0, 0)
		check.Equal(t, calm.ended(), test.done, name, "undisturbed")
		slots := make(chan struct{}, 6)
		var group sync.WaitGroup
		var mu sync.Mutex
		ends := map[string]int{}
		for i, call := range calls {
			for _, at := range []lambdaruntime.Point{lambdaruntime.Before, lambdaruntime.After} {
				a := newAbandoned(t)
				group.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					a.play(o, call.Number, at, 2+i%8)
					mu.Lock()
					defer mu.Unlock()
					end := a.ended()
					ends[end]++
					// Without a record, nothing has begun.
					if want := []string{test.done, "no record, orders 0, messages 0"}; !slices.Contains(want, end) {
						t.Errorf("%s: killed %v %s %s: %s", name, at, call.Server, call.Operation, end)
					}
				})
			}
		}
		group.Wait()
		t.Logf("%s: %d calls: %v", name, len(calls), ends)
		check.True(t, ends[test.done] > len(calls), name)
	}
}

// play kills the function, and lets two rounds of the resumer pass.
func (a *abandoned) play(o order, number int, at lambdaruntime.Point, resumerDies int) {
	_, _, _ = a.invoke("function", o, number, at)
	a.lapse()
	var round sync.WaitGroup
	round.Go(func() { a.invoke("resumer", handlers.ResumeEvent{}, resumerDies, lambdaruntime.After) })
	round.Go(func() { a.invoke("resumer", handlers.ResumeEvent{}, 0, 0) })
	round.Wait()
	a.lapse()
	_, answer, crashed := a.invoke("resumer", handlers.ResumeEvent{}, 0, 0)
	if crashed || answer.FunctionError != nil || !strings.Contains(string(answer.Payload), `"complete":true`) {
		a.Errorf("the second round: %s", answer.Payload)
	}
}
