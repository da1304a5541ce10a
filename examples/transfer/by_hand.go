package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}

// transferByHand is a mistake without Once. It claims the transfer, and makes it in the
// transaction that completes the claim. A claim whose invocation is over is taken over,
// and an invocation that is over begins no transfer.
func (b *bank) transferByHand(ctx context.Context, t transfer) (r receipt, err error) {
	claim := account("by-hand-" + t.TransferID)
	deadline, _ := ctx.Deadline()
	claim["lease"] = number(deadline.UnixMilli())
	_, err = b.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &b.table, Item: claim,
		ConditionExpression:                 aws.String("attribute_not_exists(id) OR lease < :now"),
		ExpressionAttributeValues:           item{":now": number(time.Now().UnixMilli())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if taken, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		if result, ok := taken.Item["result"].(*types.AttributeValueMemberB); ok {
			err = json.Unmarshal(result.Value, &r)
			return r, err
		}
	}
	if err != nil {
		return r, err
	}
	r = receipt{transfer: t, Status: "transferred"}
	result, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	if time.Now().After(deadline) { // the context may not say so yet, right after a freeze
		return r, context.DeadlineExceeded
	}
	done := item{"id": claim["id"], "result": &types.AttributeValueMemberB{Value: result}}
	_, err = b.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		b.adds(t.From, -t.Amount), b.adds(t.To, t.Amount), {Put: &types.Put{TableName: &b.table, Item: done}},
	}})
	return r, err
}

func (b *bank) adds(id string, amount int64) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &b.table, Key: account(id),
		UpdateExpression: aws.String("ADD balance :amount"), ExpressionAttributeValues: item{":amount": number(amount)},
	}}
}
