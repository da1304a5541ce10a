package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/examples/internal/program"
)

// inTwoUpdates is a mistake, even behind a claim: a crash between the updates leaves
// half a transfer, and the retry debits once more.
func (b *bank) inTwoUpdates(ctx context.Context, t transfer) error {
	err := b.update(ctx, t.From, change(-t.Amount), covers(t.Amount))
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refusedDebit(refused.Item)
	}
	if err != nil {
		return err
	}
	if err := program.Pause(ctx, b.delay); err != nil {
		return err
	}
	err = b.update(ctx, t.To, change(t.Amount), exists)
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// The debit is lost. A transaction would have refused it.
		return refusedCredit()
	}
	return err
}

func (b *bank) update(ctx context.Context, id string, change expression.UpdateBuilder, condition expression.ConditionBuilder) error {
	e, err := expression.NewBuilder().WithUpdate(change).WithCondition(condition).Build()
	if err != nil {
		return err
	}
	_, err = b.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &b.table,
		Key:                                 account(id),
		UpdateExpression:                    e.Update(),
		ConditionExpression:                 e.Condition(),
		ExpressionAttributeNames:            e.Names(),
		ExpressionAttributeValues:           e.Values(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}
