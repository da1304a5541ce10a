package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// newEffect returns an effect with a new id, so that every repetition is counted.
func (r run) newEffect(slot string) Effect {
	return Effect{ID: rand.Text(), Key: r.Key, Slot: slot, Delivery: r.delivery, Attempt: r.attempt}
}

// effect writes an effect past the weather and whatever the context says. So no
// effect is repeated but for a reason of Once.
func (r run) effect(ctx context.Context, slot string) (id string, err error) {
	e := r.newEffect(slot)
	if e.Early, err = r.early(ctx); err != nil {
		return "", r.failed(err)
	}
	return e.ID, r.failed(r.put(ctx, e, nil))
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
	before, err := r.direct.Get(context.WithoutCancel(ctx), id)
	return before.Status != driver.Completed, err
}

// book makes a booking as a provider with idempotency keys does: once, and not
// again after it was cancelled.
func (r run) book(ctx context.Context, step int) (id string, err error) {
	e, condition := r.newEffect(Step(step)), "attribute_not_exists(id)"
	e.ID, e.State = idempotent.DownstreamKey(ctx, "booking"), Booked
	err = r.put(ctx, e, &condition)
	if _, exists := errors.AsType[*types.ConditionalCheckFailedException](err); exists {
		return e.ID, nil
	}
	return e.ID, r.failed(err)
}

func (r run) cancel(ctx context.Context, step int, booking string) error {
	e, condition := r.newEffect(Step(step)), "attribute_exists(id)"
	e.ID, e.State = booking, Cancelled
	return r.failed(r.put(ctx, e, &condition))
}

func (r run) put(ctx context.Context, e Effect, condition *string) error {
	item, err := attributevalue.MarshalMap(e)
	if err != nil {
		return err
	}
	_, err = r.client.PutItem(context.WithoutCancel(ctx), &dynamodb.PutItemInput{
		TableName: &r.Effects, Item: item, ConditionExpression: condition,
	})
	return err
}

// failed records an error of the worker itself.
func (r run) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("an effect fails: %w", err)
		r.troubled(err)
	}
	return err
}
