package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
)

// order is the body of a request.
type order struct {
	Amount   int64  `json:"amount"` // in the currency's smallest unit
	Currency string `json:"currency"`
	Source   string `json:"source"`
}

// payment is the response, and the item of one charge.
type payment struct {
	ID       string    `json:"id" dynamodbav:"id"`
	Amount   int64     `json:"amount" dynamodbav:"amount"`
	Currency string    `json:"currency" dynamodbav:"currency"`
	Source   string    `json:"source" dynamodbav:"source"`
	Created  time.Time `json:"created" dynamodbav:"created"`
}

// provider stands in for a payment provider. Every charge is an item of a table. A
// put with a new ID is a new charge; a put with the same ID is a request with an
// idempotency key that the provider knows.
type provider struct {
	client *dynamodb.Client
	table  string
	delay  time.Duration
	newID  func(context.Context) string
}

func (p *provider) createPayment(ctx context.Context, o order) (payment, error) {
	paid := payment{
		ID:       p.newID(ctx),
		Amount:   o.Amount,
		Currency: o.Currency,
		Source:   o.Source,
		Created:  time.Now().UTC(),
	}
	// Half of the time is spent before the charge and half after it. A crash in
	// the second half leaves a charge without a response.
	if err := program.Pause(ctx, p.delay/2); err != nil {
		return payment{}, err
	}
	item, err := attributevalue.MarshalMap(paid)
	if err != nil {
		return payment{}, err
	}
	if _, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(p.table), Item: item}); err != nil {
		return payment{}, fmt.Errorf("charge: %w", err)
	}
	return paid, program.Pause(ctx, p.delay/2)
}

func randomID(context.Context) string { return uuid.NewString() }

func downstreamID(ctx context.Context) string { return idempotent.DownstreamKey(ctx, "charge") }
