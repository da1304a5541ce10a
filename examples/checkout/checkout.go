package main

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// order is the event.
type order struct {
	OrderID  string `json:"orderId"`
	Customer string `json:"customer"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Amount   int64  `json:"amount"` // in the currency's smallest unit
	Card     string `json:"card"`
}

// receipt is the response, the item of the order and the message about it.
type receipt struct {
	ID          string `json:"-" dynamodbav:"id"` // the customer's and the order's, see orderID
	OrderID     string `json:"orderId" dynamodbav:"orderId"`
	Customer    string `json:"customer" dynamodbav:"customer"`
	Amount      int64  `json:"amount" dynamodbav:"amount"`
	Reservation string `json:"reservation" dynamodbav:"reservation"`
	Charge      string `json:"charge" dynamodbav:"charge"`
}

type shop struct {
	services services
	// place adds the order to the transaction of the call: that of orders, in DynamoDB.
	place func(context.Context, receipt) (receipt, error)
}

// checkout has two steps with undo functions, and a transaction. A crash repeats no
// finished step. A declined card releases the reservation. If the order exists
// already, the charge is also refunded.
func (s *shop) checkout(ctx context.Context, o order) (receipt, error) {
	reserved, err := idempotent.SagaStep(ctx, "reserve", s.reserve(o), s.release)
	if err != nil {
		return receipt{}, err
	}
	charged, err := idempotent.SagaStep(ctx, "charge", s.charge(o), s.refund)
	if err != nil {
		return receipt{}, err
	}
	return s.place(ctx, receipt{
		ID: orderID(o), OrderID: o.OrderID, Customer: o.Customer, Amount: o.Amount,
		Reservation: reserved.ID, Charge: charged.ID,
	})
}

// orderID escapes its parts: order b/c of customer a is not order c of customer a/b.
func orderID(o order) string { return url.PathEscape(o.Customer) + "/" + url.PathEscape(o.OrderID) }

type orders struct{ table string }

// place writes nothing itself: the transaction is committed when the handler has
// returned.
//
// An existing order with the same charge is this order, placed before its record
// expired: the services remember their keys for longer. To refuse it would refund
// the charge of a placed order.
func (o orders) place(ctx context.Context, r receipt) (receipt, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return receipt{}, err
	}
	tx := dynamo.Collect(ctx)
	isNew := expression.AttributeNotExists(expression.Name("id"))
	isThis := expression.Name("charge").Equal(expression.Value(r.Charge))
	tx.Put(o.table, r, dynamo.If(isNew.Or(isThis)).Else(func(*dynamo.TransactionError) error {
		return idempotent.Permanent(&OrderExistsError{OrderID: r.OrderID})
	}))
	tx.Publish(driver.OutboxMessage{Aggregate: r.ID, Destination: "order-events", Type: "OrderPlaced", Body: body})
	return r, nil
}
