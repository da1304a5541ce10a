package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/outboxitem"
)

// CreateOutboxTable makes a table for [Options.Outbox], billed on demand, and
// waits until it can be used: with a stream of new images, and the TTL by which
// published items expire. A table that exists already must have the same keys
// and stream.
//
// It is for tests and tools, as [CreateTable] is.
func CreateOutboxTable(ctx context.Context, client TableClient, table string) error {
	l := outboxLayout()
	made, err := createTable(ctx, client, table, &l, &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
	})
	if err != nil {
		return err
	}
	// A stream with old images as well shows the new ones.
	if s := made.StreamSpecification; s == nil || !aws.ToBool(s.StreamEnabled) ||
		s.StreamViewType != types.StreamViewTypeNewImage && s.StreamViewType != types.StreamViewTypeNewAndOldImages {
		return &Error{Op: "CreateTable", Table: table, Err: errors.New("the table exists without a stream of new images"),
			Advice: "enable its stream, with the view type NEW_IMAGE"}
	}
	return nil
}

// outboxLayout names the keys and the TTL attribute of an outbox.
func outboxLayout() layout {
	return layout{attr: Attributes{ID: outboxitem.Aggregate, SortKey: outboxitem.ID, Expiration: outboxitem.Expiration}}
}
