package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// check checks the table and the caller's permissions. id names no record.
func (t *table) check(ctx context.Context, id string, group bool, found *findings) {
	if !t.checkSettings(ctx, found) {
		return
	}
	t.checkAccess(ctx, id, found)
	if group {
		t.checkGroupAccess(ctx, id, found)
	}
}

// checkAccess tries the calls of a function, on a key without a record. Writes
// have a condition that never holds: DynamoDB checks permissions first.
func (t *table) checkAccess(ctx context.Context, id string, found *findings) {
	key := t.key(id)
	names := map[string]string{"#id": t.attr.ID}
	never := "attribute_exists(#id) AND attribute_not_exists(#id)"
	_, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key})
	found.access("dynamodb:GetItem", err)
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	found.access("dynamodb:PutItem", err)
	_, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &t.name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	found.access("dynamodb:UpdateItem", err)
	_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	found.access("dynamodb:DeleteItem", err)
}

const accessDenied = "AccessDeniedException"

const toGrant = "grant it to the role of the function: infra's GrantExecute, or the policy in template.yaml; with a condition on the operation, give --operation"

func (f *findings) access(action string, err error) {
	var never *types.ConditionalCheckFailedException
	var api smithy.APIError
	switch {
	case err == nil, errors.As(err, &never):
		f.say(action, fine, "the caller may", "")
	case !errors.As(err, &api):
		f.say(action, wrong, "DynamoDB was not reached: "+err.Error(), "see --endpoint, --region and --profile")
	case api.ErrorCode() == accessDenied:
		f.say(action, wrong, api.ErrorMessage(), toGrant)
	default:
		f.say(action, wrong, api.ErrorCode()+": "+api.ErrorMessage(), "")
	}
}
