package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// positions stores the position of a sweep in the table that it sweeps, in an item that
// is no record: it has no status. Without it, a table that takes longer than a run would
// be swept at its beginning alone.
//
// Overlapping runs overwrite each other's position. One of them is then repeated, or the
// part between both is left to the next round.
type positions struct {
	client *dynamodb.Client
	table  string
}

// positionID is the key of the item. infra.NewSweep allows the function to write it.
const positionID = "once sweep"

func (p *positions) key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: positionID}}
}

// load returns "", the beginning, if no run was cut off.
func (p *positions) load(ctx context.Context) (string, error) {
	if p == nil {
		return "", nil
	}
	out, err := p.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &p.table, Key: p.key(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	if after, ok := out.Item["after"].(*types.AttributeValueMemberS); ok {
		return after.Value, nil
	}
	return "", nil
}

// store stores the position after, and nothing in a table that one page covers.
func (p *positions) store(ctx context.Context, before, after string) error {
	switch {
	case p == nil || before == after:
		return nil
	case after == "":
		_, err := p.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &p.table, Key: p.key()})
		return err
	}
	item := p.key()
	item["after"] = &types.AttributeValueMemberS{Value: after}
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: item})
	return err
}
