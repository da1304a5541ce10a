package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/internal/outboxitem"
)

// PublishAgain has the relay publish an item of [Outbox.Pending], and then mark it. It writes
// the attribute again, so that the item comes into the stream once more. The ids of its
// messages stay.
//
// PublishAgain returns a [*dynamo.Error] that wraps [ErrNotFound] if there is no such item, or
// if it is marked: the relay has published it meanwhile.
func (o *Outbox) PublishAgain(ctx context.Context, aggregate, id string, created time.Time) error {
	update, condition := "SET #again = :now", "#created = :created AND attribute_not_exists(#published)"
	_, err := o.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		ConditionExpression: &condition,
		ExpressionAttributeNames: map[string]string{
			"#again": outboxitem.Again, "#created": outboxitem.Created, "#published": outboxitem.Published,
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":created": attribute.Millis(created), ":now": attribute.Millis(time.Now())},
		Key:                       map[string]types.AttributeValue{outboxitem.Aggregate: attribute.Text(aggregate), outboxitem.ID: attribute.Text(id)},
		TableName:                 &o.table,
		UpdateExpression:          &update,
	}, quiet)
	switch {
	case fault.ConditionFailed(err) != nil:
		return &dynamo.Error{Op: "UpdateItem", Table: o.table, Err: errors.Join(ErrNotFound, err), Advice: "the relay has published it meanwhile, or it was rewritten"}
	case err != nil:
		return o.fail("UpdateItem", err)
	}
	return nil
}
