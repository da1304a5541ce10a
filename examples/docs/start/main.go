package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

type order struct {
	OrderID  string `json:"orderId"`
	Quantity int    `json:"quantity"`
}

// key identifies an order by the producer's own id: two messages with one
// order id are one order.
func key(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.OrderID, Payload: m.Body}, nil
}

// A shop places orders. Its ship function has the effect.
type shop struct {
	ship func(ctx context.Context, key string, o order) error
}

func (s shop) place(ctx context.Context, m handlers.SQSMessage[order]) error {
	if m.Body.Quantity <= 0 {
		return idempotent.Permanent(fmt.Errorf("order %s has quantity %d", m.Body.OrderID, m.Body.Quantity))
	}
	return s.ship(ctx, idempotent.DownstreamKey(ctx, "ship"), m.Body)
}

var config = &idempotent.Config{
	Retention: 28 * 24 * time.Hour, // a queue's 14 days at most, and 14 in its dead-letter queue; FIFO: 42
}

func main() {
	store, err := dynamoenv.Open(context.Background(), nil) // the table of $IDEMPOTENCY_TABLE
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("place-order", store, config)
	if err != nil {
		log.Fatal(err)
	}
	s := shop{ship: func(_ context.Context, key string, o order) error {
		log.Printf("shipping %d of order %s under key %s", o.Quantity, o.OrderID, key) // call the warehouse here
		return nil
	}}
	lambda.Start(handlers.SQS(x, key, s.place, nil))
}
