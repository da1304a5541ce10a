// Command byhand is a Lambda function that books a payment on an account. It runs once for
// a payment by hand, with the conditional write that is usually advised, or with Once if
// BY is "once". Payments, records and accounts are items of $TABLE.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
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

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

type bookkeeper struct {
	client *dynamodb.Client
	table  string
}

// booked adds the payment to its account.
func (b bookkeeper) booked(p payment) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &b.table, Key: item{"id": text(p.Account)},
		UpdateExpression: aws.String("ADD balance :cents"), ExpressionAttributeValues: item{":cents": number(int64(p.Cents))},
	}}
}

var errRunning = errors.New("the payment is being booked")

// byHand claims the payment, and books it in the transaction that completes the claim. A
// claim whose invocation is over is taken over.
func (b bookkeeper) byHand(ctx context.Context, p payment) (string, error) {
	key, deadline := "by-hand-"+p.ID, time.Now().Add(time.Minute)
	if end, ok := ctx.Deadline(); ok {
		deadline = end
	}
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                &b.table,
		Item:                     item{"id": text(key), "status": text("running"), "until": number(deadline.UnixMilli())},
		ConditionExpression:      aws.String("attribute_not_exists(id) OR (#status = :running AND #until < :now)"),
		ExpressionAttributeNames: map[string]string{"#status": "status", "#until": "until"},
		ExpressionAttributeValues: item{
			":running": text("running"), ":now": number(time.Now().UnixMilli()),
		},
	})
	if taken := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &taken) {
		out, err := b.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &b.table, Key: item{"id": text(key)}, ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return "", err
		}
		if result, ok := out.Item["result"].(*types.AttributeValueMemberS); ok {
			return result.Value, nil
		}
		return "", errRunning
	}
	if err != nil {
		return "", err
	}
	_, err = b.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		b.booked(p),
		{Put: &types.Put{TableName: &b.table, Item: item{"id": text(key), "status": text("done"), "result": text("booked")}}},
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
