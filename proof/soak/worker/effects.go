package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// newEffect returns an effect with a new id, so that every repetition is counted.
func (r run) newEffect(slot string) job.Effect {
	return job.Effect{ID: rand.Text(), Key: r.Key, Kind: r.Kind, Slot: slot, Delivery: r.delivery, Attempt: r.attempt}
}

// effect writes an effect past the weather and whatever the context says. So no
// effect is repeated but for a reason of Once.
func (r run) effect(ctx context.Context, slot string) (id string, err error) {
	ctx = context.WithoutCancel(ctx)
	e := r.newEffect(slot)
	if e.Early, err = r.early(ctx); err != nil {
		return "", r.failed(err)
	}
	return e.ID, r.put(ctx, e, nil)
}

// early reports whether the record before this one in its lane is unfinished.
func (r run) early(ctx context.Context) (bool, error) {
	if r.After == "" {
		return false, nil
	}
	id, err := idempotent.Key{ID: r.After}.RecordID(string(r.Kind))
	if err != nil {
		return false, err
	}
	before, err := r.worker.direct.Get(context.WithoutCancel(ctx), id)
	return before.Status != driver.Completed, err
}

// book makes a booking as a provider with idempotency keys does: once, and not
// again after it was cancelled.
func (r run) book(ctx context.Context, step int) (id string, err error) {
	e := r.newEffect(job.Step(step))
	e.ID, e.State = idempotent.DownstreamKey(ctx, "booking"), job.Booked
	return e.ID, r.put(context.WithoutCancel(ctx), e, aws.String("attribute_not_exists(id)"))
}

func (r run) cancel(ctx context.Context, booking string) error {
	_, err := r.client.UpdateItem(context.WithoutCancel(ctx), &dynamodb.UpdateItemInput{
		TableName:                &r.Effects,
		Key:                      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: booking}},
		ConditionExpression:      aws.String("attribute_exists(id)"),
		UpdateExpression:         aws.String("SET #state = :cancelled"),
		ExpressionAttributeNames: map[string]string{"#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":cancelled": &types.AttributeValueMemberS{Value: job.Cancelled},
		},
	})
	return r.failed(err)
}

func (r run) put(ctx context.Context, e job.Effect, condition *string) error {
	item, err := attributevalue.MarshalMap(e)
	if err != nil {
		return r.failed(err)
	}
	_, err = r.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.Effects, Item: item, ConditionExpression: condition})
	if exists := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &exists) {
		return nil
	}
	return r.failed(err)
}

// failed records an error of the worker itself.
func (r run) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("an effect fails: %w", err)
		r.troubled(err)
	}
	return err
}
