// Command outbox is the function of docs/outbox-and-chains.md.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/outbound"
)

// An order is the event, an item of the table orders, and the body of a message.
type order struct {
	ID       string `json:"id" dynamodbav:"id"`
	Quantity int    `json:"quantity" dynamodbav:"quantity"`
}

func key(o order) (idempotent.Key, error) {
	return idempotent.Key{ID: o.ID, Payload: o}, nil
}

type shop struct{ orders string }

// place writes nothing itself. The order, the message and the completion of the call are
// one transaction, which is committed when place has returned.
func (s shop) place(ctx context.Context, o order) (order, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return order{}, err
	}
	tx := dynamo.Collect(ctx)
	tx.Put(s.orders, o)
	tx.Publish(outbound.Message{Aggregate: o.ID, Destination: "order-events", Type: "OrderPlaced", Body: body})
	return o, nil
}

func main() {
	store, err := dynamoenv.Open(context.Background(), nil) // of $IDEMPOTENCY_TABLE and $OUTBOX_TABLE
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("place-order", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	s := shop{orders: os.Getenv("ORDERS_TABLE")}
	lambda.Start(handlers.Invoke(x, key, s.place))
}
