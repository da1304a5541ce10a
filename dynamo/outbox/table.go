package outbox

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/outboxitem"
)

// CreateTable creates a table for [dynamo.Options].Outbox, billed on demand, and
// waits until it can be used. The table has a stream of new images, and a TTL by
// which marked items expire. A table that exists must have the same keys and
// stream.
//
// CreateTable is for tests and tools, as [dynamo.CreateTable] is.
func CreateTable(ctx context.Context, client dynamo.TableClient, table string) error {
	err := dynamo.CreateTable(ctx, streaming{client}, table, &dynamo.Options{Layout: dynamo.Layout{
		ID: outboxitem.Aggregate, SortKey: outboxitem.ID, Expiration: outboxitem.Expiration,
	}})
	if err != nil {
		return err
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table}, quiet)
	if err != nil {
		return (&Outbox{table: table}).fail("DescribeTable", err)
	}
	// A stream that shows old images as well shows the new ones.
	if s := out.Table.StreamSpecification; s == nil || !aws.ToBool(s.StreamEnabled) ||
		s.StreamViewType != types.StreamViewTypeNewImage && s.StreamViewType != types.StreamViewTypeNewAndOldImages {
		return &dynamo.Error{Op: "CreateTable", Table: table, Err: errors.New("the table exists without a stream of new images"),
			Advice: "enable its stream, with the view type NEW_IMAGE"}
	}
	return nil
}

// streaming creates tables with a stream.
type streaming struct{ dynamo.TableClient }

func (s streaming) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, o ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
	return s.TableClient.CreateTable(ctx, in, o...)
}
