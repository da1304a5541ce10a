// Command shop is examples/checkout under the options that may keep a call from running, in
// two functions: the one that places orders, and a resumer of what that leaves behind. ROLE
// says which.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

func main() {
	store, err := dynamoenv.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	x, err := idempotent.New("checkout", store, &idempotent.Config{
		RefuseLate: true, ProviderMemory: 24 * time.Hour, Resume: true, Observer: idempotent.NoObserver{},
	})
	if err != nil {
		panic(err)
	}
	if os.Getenv("ROLE") == "resumer" {
		lambda.Start(handlers.Resume(handlers.Resumed(x, key, checkout), &handlers.ResumeOptions{ReleasedAfter: time.Millisecond}))
	}
	lambda.Start(handlers.Invoke(x, key, checkout))
}

type order struct {
	OrderID  string    `json:"orderId"`
	Customer string    `json:"customer"`
	SKU      string    `json:"sku"`
	Card     string    `json:"card"`
	Placed   time.Time `json:"placed"`
}

func key(o order) (idempotent.Key, error) {
	return idempotent.Key{Scope: o.Customer, ID: o.OrderID, Payload: o, Issued: o.Placed}, nil
}

// checkout has the steps, the undo functions and the transaction of examples/checkout.
func checkout(ctx context.Context, o order) (made, error) {
	if _, err := idempotent.SagaStep(ctx, "reserve", posting("/reservations", o), undoing("/releases")); err != nil {
		return made{}, err
	}
	charge, err := idempotent.SagaStep(ctx, "charge", posting("/charges", o), undoing("/refunds"))
	if err != nil {
		return made{}, err
	}
	id := o.Customer + "/" + o.OrderID
	isNew := expression.AttributeNotExists(expression.Name("id"))
	dynamo.Collect(ctx).Put(os.Getenv("ORDERS_TABLE"), map[string]string{"id": id}, dynamo.If(isNew).Else(func(*dynamo.TransactionError) error {
		return idempotent.Permanent(&OrderExistsError{})
	}))
	dynamo.Collect(ctx).Publish(driver.OutboxMessage{Aggregate: id, Destination: "order-events", Type: "OrderPlaced", Body: []byte(charge.ID)})
	return charge, nil
}

type made struct {
	ID string `json:"id"`
}

func posting(path string, o order) func(context.Context) (made, error) {
	return func(ctx context.Context) (made, error) { return post(ctx, path, o) }
}

func undoing(path string) func(context.Context, made) error {
	return func(ctx context.Context, m made) error {
		_, err := post(ctx, path, m)
		return err
	}
}

func post(ctx context.Context, path string, body any) (m made, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return made{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("PROVIDER_URL")+path, bytes.NewReader(text))
	if err != nil {
		return made{}, err
	}
	request.Header.Set("Idempotency-Key", idempotent.DownstreamKey(ctx, path))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return made{}, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusCreated:
		return m, json.NewDecoder(response.Body).Decode(&m)
	case http.StatusPaymentRequired:
		return made{}, idempotent.Permanent(&CardDeclinedError{})
	}
	return made{}, fmt.Errorf("POST %s: %s", path, response.Status)
}

type CardDeclinedError struct{}

func (*CardDeclinedError) Error() string { return "the card was declined" }

type OrderExistsError struct{}

func (*OrderExistsError) Error() string { return "the order is placed already" }
