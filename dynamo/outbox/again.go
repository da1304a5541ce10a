package outbox

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/internal/outboxitem"
)

// PublishAgain has the relay publish an item of [Outbox.Pending], and then mark it. It writes
// the attribute again, so that the item comes into the stream once more. The ids of its
// messages stay.
//
// PublishAgain returns a [*dynamo.Error] that wraps [ErrNotFound] if there is no such item, or
// if it is marked: the relay has published it meanwhile.
func (o *Outbox) PublishAgain(ctx context.Context, aggregate, id string, created time.Time) error {
	return o.update(ctx, aggregate, id, created, &dynamodb.UpdateItemInput{
		ConditionExpression: aws.String("#created = :created AND attribute_not_exists(#published)"),
		ExpressionAttributeNames: map[string]string{
			"#again": outboxitem.Again, "#created": outboxitem.Created, "#published": outboxitem.Published,
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":now": attribute.Millis(time.Now())},
		UpdateExpression:          aws.String("SET #again = :now"),
	}, "the relay has published it meanwhile, or it was rewritten")
}
