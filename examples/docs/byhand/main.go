// Command byhand is a Lambda function that books a payment on an account. It runs once for
// a payment by hand, with the conditional write that is usually advised, or with Once if
// BY is "once". Payments, records and accounts are items of $TABLE.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

type payment struct {
	ID      string `json:"paymentId"`
	Account string `json:"account"`
	Cents   int    `json:"cents"`
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n any) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

type bookkeeper struct {
	client *dynamodb.Client
	table  string
}

// booked adds the payment to its account.
func (b bookkeeper) booked(p payment) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &b.table, Key: item{"id": text(p.Account)},
		UpdateExpression: aws.String("ADD balance :cents"), ExpressionAttributeValues: item{":cents": number(p.Cents)},
	}}
}

// byHand claims the payment, and books it in the transaction that completes the claim. A
// claim whose invocation is over is taken over.
func (b bookkeeper) byHand(ctx context.Context, p payment) (string, error) {
	key := "by-hand-" + p.ID
	deadline, _ := ctx.Deadline()
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &b.table, Item: item{"id": text(key), "lease": number(deadline.UnixMilli())},
		ConditionExpression:                 aws.String("attribute_not_exists(id) OR lease < :now"),
		ExpressionAttributeValues:           item{":now": number(time.Now().UnixMilli())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if taken := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &taken) {
		if result, ok := taken.Item["result"].(*types.AttributeValueMemberS); ok {
			return result.Value, nil
		}
	}
	if err != nil {
		return "", err
	}
	_, err = b.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		b.booked(p), {Put: &types.Put{TableName: &b.table, Item: item{"id": text(key), "result": text("booked")}}},
	}})
	return "booked", err
}

// withOnce leaves all of that to Once.
func (b bookkeeper) withOnce(ctx context.Context, p payment) (string, error) {
	dynamo.Collect(ctx).Add(b.booked(p))
	return "booked", nil
}

func key(p payment) (idempotent.Key, error) { return idempotent.Key{ID: p.ID, Payload: p}, nil }

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	b := bookkeeper{dynamodb.NewFromConfig(cfg), os.Getenv("TABLE")}
	if os.Getenv("BY") != "once" {
		lambda.Start(b.byHand)
		return
	}
	store, err := dynamo.New(b.client, b.table, nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("book", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handlers.Invoke(x, key, b.withOnce))
}
