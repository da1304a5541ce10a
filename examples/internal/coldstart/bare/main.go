// Command bare is a function that makes the two writes of a first call by hand.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type order struct{ ID string }

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	f := function{dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE")}
	lambda.Start(f.place)
}

type function struct {
	client *dynamodb.Client
	table  string
}

func (f function) place(ctx context.Context, o order) (string, error) {
	id := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: o.ID}}
	_, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &f.table, Item: id, ConditionExpression: aws.String("attribute_not_exists(id)"),
	})
	if err != nil {
		return "", err
	}
	_, err = f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &f.table, Key: id, UpdateExpression: aws.String("SET placed = :placed"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":placed": &types.AttributeValueMemberBOOL{Value: true}},
	})
	return "placed " + o.ID, err
}
