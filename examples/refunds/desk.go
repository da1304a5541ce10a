package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// request is the arguments of the tool. A model reads the descriptions.
type request struct {
	Charge string `json:"charge" jsonschema:"the id of the charge"`
	Amount int64  `json:"amount" jsonschema:"what to refund, in the smallest unit of the currency"`
	Reason string `json:"reason,omitempty" jsonschema:"why, in the words of the customer"`
}

// refunded is the result, and the item of the table.
type refunded struct {
	ID     string `json:"id" dynamodbav:"id"` // of the provider
	Charge string `json:"charge" dynamodbav:"charge"`
	Amount int64  `json:"amount" dynamodbav:"amount"`
}

type desk struct{ table, provider string }

// refund returns the money, and records it with the message that says so. The provider
// recognises the request of a second attempt by its key. The item and the message are
// written with the record of the call, or not at all.
func (d *desk) refund(ctx context.Context, r request) (refunded, error) {
	if r.Amount <= 0 {
		return refunded{}, idempotent.Permanent(errors.New("the amount must be positive"))
	}
	id, err := d.send(ctx, r)
	if err != nil {
		return refunded{}, err
	}
	done := refunded{ID: id, Charge: r.Charge, Amount: r.Amount}
	body, err := json.Marshal(done)
	if err != nil {
		return refunded{}, err
	}
	tx := dynamo.Collect(ctx)
	tx.Put(d.table, done)
	tx.Publish(driver.OutboxMessage{Aggregate: r.Charge, Destination: "order-events", Type: "RefundMade", Body: body})
	return done, nil
}

// send asks the provider, and returns the id of the refund. A refusal is permanent, and
// its text is for the model.
func (d *desk) send(ctx context.Context, r request) (id string, err error) {
	text, err := json.Marshal(map[string]any{"charge": r.Charge, "amount": r.Amount})
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, d.provider+"/refunds", bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", idempotent.DownstreamKey(ctx, "refund"))
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer func() { err = cmp.Or(err, response.Body.Close()) }()
	switch response.StatusCode {
	case http.StatusCreated:
		var made struct{ ID string }
		err = json.NewDecoder(response.Body).Decode(&made)
		return made.ID, err
	case http.StatusUnprocessableEntity:
		return "", idempotent.Permanent(errors.New("the provider refuses this refund: the charge is unknown, or smaller"))
	}
	return "", fmt.Errorf("POST /refunds: %s", response.Status)
}
