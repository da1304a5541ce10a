package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableClient is the part of DynamoDB that [CreateTable] calls.
// *dynamodb.Client implements it.
type TableClient interface {
	dynamodb.DescribeTableAPIClient
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// maxTableWait bounds the wait for a new table, which takes some seconds.
const maxTableWait = 5 * time.Minute

// CreateTable creates a table for a store with these options, billed on demand,
// and waits until it can be used. It turns on the TTL of the table. A table that
// exists must have the same keys, and its TTL must be off or use the same
// attribute. With Options.Resume, the table has the index [LapsedIndex].
//
// CreateTable is for tests and tools. In production the table belongs in the
// deployment, with backups and protection from deletion.
func CreateTable(ctx context.Context, client TableClient, table string, options *Options) error {
	f, err := options.format(false, nil)
	if err != nil {
		return err
	}
	s := &Store{table: table, format: f}
	var keys []types.KeySchemaElement
	var attributes []types.AttributeDefinition
	for i, name := range s.keyNames() {
		keys = append(keys, types.KeySchemaElement{AttributeName: &name, KeyType: [...]types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
		attributes = append(attributes, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
	}
	in := &dynamodb.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keys,
		TableName:   &table,
	}
	if options != nil && options.Resume {
		attributes = append(attributes, types.AttributeDefinition{AttributeName: &f.Attr.Lease, AttributeType: types.ScalarAttributeTypeN})
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName: aws.String(LapsedIndex), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			KeySchema: []types.KeySchemaElement{{AttributeName: &f.Attr.Lease, KeyType: types.KeyTypeHash}},
		}}
	}
	in.AttributeDefinitions = attributes
	_, err = client.CreateTable(ctx, in, quiet)
	if exists := (*types.ResourceInUseException)(nil); err != nil && !errors.As(err, &exists) {
		return s.fail("CreateTable", err)
	}
	described, err := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
	}).WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &table}, maxTableWait)
	if err != nil {
		return s.fail("DescribeTable", err)
	}
	if err := checkSchema(described.Table, keys); err != nil {
		return s.fail("CreateTable", err)
	}
	if in.GlobalSecondaryIndexes != nil {
		if err := s.checkLapsedIndex(described.Table); err != nil {
			return s.fail("CreateTable", err)
		}
	}
	return s.enableTTL(ctx, client)
}

// checkSchema compares the keys. The table may define more attributes, for indexes.
func checkSchema(table *types.TableDescription, keys []types.KeySchemaElement) error {
	isText := map[string]bool{}
	for _, d := range table.AttributeDefinitions {
		isText[aws.ToString(d.AttributeName)] = d.AttributeType == types.ScalarAttributeTypeS
	}
	if !slices.EqualFunc(table.KeySchema, keys, func(found, want types.KeySchemaElement) bool {
		name := aws.ToString(found.AttributeName)
		return name == *want.AttributeName && found.KeyType == want.KeyType && isText[name]
	}) {
		return fmt.Errorf("the table exists with other keys than these options need (%d of type S, partition key %q)", len(keys), *keys[0].AttributeName)
	}
	return nil
}

// enableTTL describes the TTL first: to enable it again is an error without a
// code of its own.
func (s *Store) enableTTL(ctx context.Context, client TableClient) error {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table}, quiet)
	if err != nil {
		return s.fail("DescribeTimeToLive", err)
	}
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		if name := aws.ToString(d.AttributeName); name != s.format.Attr.Expiration {
			return s.fail("DescribeTimeToLive", fmt.Errorf("the table's TTL uses the attribute %q, not %q", name, s.format.Attr.Expiration))
		}
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &s.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &s.format.Attr.Expiration, Enabled: aws.Bool(true)},
	}, quiet)
	if err != nil {
		return s.fail("UpdateTimeToLive", err)
	}
	return nil
}
