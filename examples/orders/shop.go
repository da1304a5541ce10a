package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/uuid"

	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// order is the body of a message.
type order struct {
	OrderID  string `json:"orderId"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// execution is the item that one execution writes. Its ID is new each time, so that
// a second execution of an order is visible.
type execution struct {
	ID       string `dynamodbav:"id"`
	OrderID  string `dynamodbav:"orderId"`
	SKU      string `dynamodbav:"sku"`
	Quantity int64  `dynamodbav:"quantity"`
	Status   string `dynamodbav:"status"`
	// Attempt and Process distinguish a repetition after a crash from a bug.
	Attempt int64  `dynamodbav:"attempt"`
	Process string `dynamodbav:"process"`
}

const (
	placed   = "placed"
	rejected = "rejected"
)

type shop struct {
	client  *dynamodb.Client
	table   string
	delay   time.Duration
	process string // the log stream is the name of the process
}

// place places an order, or rejects it permanently: the queue then moves its message
// to the dead-letter queue, and no delivery runs it again.
func (s *shop) place(ctx context.Context, m handlers.SQSMessage[order]) error {
	claim, _ := idempotent.FromContext(ctx) // none with ONCE_DISABLED
	e := execution{
		ID: uuid.NewString(), OrderID: m.Body.OrderID, SKU: m.Body.SKU, Quantity: m.Body.Quantity,
		Status: placed, Attempt: claim.Attempt, Process: s.process,
	}
	if e.Quantity < 1 {
		e.Status = rejected
	}
	if err := s.record(ctx, e); err != nil {
		return err
	}
	if e.Status == rejected {
		return idempotent.Permanent(errors.New("an order needs a quantity"))
	}
	return nil
}

// record waits for half of the delay before the effect and half after it. A crash in
// the second half leaves an effect that no record mentions.
func (s *shop) record(ctx context.Context, e execution) error {
	if err := program.Pause(ctx, s.delay/2); err != nil {
		return err
	}
	item, err := attributevalue.MarshalMap(e)
	if err != nil {
		return err
	}
	if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(s.table), Item: item}); err != nil {
		return fmt.Errorf("record the order: %w", err)
	}
	return program.Pause(ctx, s.delay/2)
}
