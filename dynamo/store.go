package dynamo

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// Client is the part of DynamoDB that a [Store] calls. *dynamodb.Client
// implements it.
type Client interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// A Store keeps records in a DynamoDB table. It is safe for concurrent use. Make
// one with [New].
type Store struct {
	client  Client
	table   string
	options Options
	format  *recorditem.Format
	group   *grouping // nil: every write is a request
}

var _ driver.Transactional = (*Store)(nil)

// New returns a store in a table, which is given by its name or ARN. New sends
// nothing: the first call shows whether the table fits the options. It returns
// a [*driver.ConfigError] for arguments that are not valid.
func New(client Client, table string, options *Options) (*Store, error) {
	return open(client, table, options, false)
}

// open is New. With plain, results are never compressed.
func open(client Client, table string, options *Options, plain bool) (*Store, error) {
	s := &Store{client: client, table: table, options: *cmp.Or(options, &Options{})}
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "dynamo: the client is nil")
	mistakes.If(table == "", "dynamo: the name of the table is empty")
	groupClient, groups := client.(GroupClient)
	mistakes.If(s.options.Group > 0 && !groups, "dynamo: Options.Group needs a client with the methods of GroupClient")
	var err error
	if s.format, err = s.options.format(plain, mistakes); err != nil {
		return nil, err
	}
	if s.options.Group > 0 {
		s.group = newGrouping(s, groupClient, groupLimits(s.options.Group))
	}
	return s, nil
}

// Get returns a record, or the zero Record if there is none. It reads with strong
// consistency: with an older state, package idempotent would decide on a record
// that has been finished since.
func (s *Store) Get(ctx context.Context, id string) (driver.Record, error) {
	if err := s.format.CheckID(id); err != nil {
		return driver.Record{}, s.refused("Get", err)
	}
	if s.group == nil {
		return s.get(ctx, id)
	}
	return s.group.get(ctx, id)
}

// get reads a record by a request of its own.
func (s *Store) get(ctx context.Context, id string) (driver.Record, error) {
	out, err := s.getItem(ctx, id)
	if err != nil {
		return driver.Record{}, err
	}
	return s.read("GetItem", out.Item)
}

func (s *Store) getItem(ctx context.Context, id string) (*dynamodb.GetItemOutput, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		ConsistentRead: aws.Bool(true),
		Key:            s.format.Key(id),
		TableName:      &s.table,
	}, inTime(ctx))
	if err != nil {
		return nil, s.fail("GetItem", err)
	}
	return out, nil
}

// read decodes an item that DynamoDB returned.
func (s *Store) read(op string, item map[string]types.AttributeValue) (driver.Record, error) {
	if len(item) == 0 {
		return driver.Record{}, nil
	}
	r, err := s.format.Record(item)
	if err != nil {
		return driver.Record{}, &Error{Op: op, Table: s.table, Err: err,
			Advice: "a stored item is not a record; check that no other program writes these keys, and that its writer has the same Options.Layout and Data"}
	}
	return r, nil
}

// lost returns the result of a write that failed. A failed condition is a lost
// race. So is a conflict: a different call writes this record.
func (s *Store) lost(ctx context.Context, op, id string, err error) (r driver.Record, ok bool, _ error) {
	failed := fault.ConditionFailed(err)
	switch {
	case failed != nil:
		r, err = s.read(op, failed.Item)
	case fault.Conflict(err):
		r, err = s.get(ctx, id)
	default:
		err = s.fail(op, err)
	}
	return r, false, err
}

// quiet turns the SDK's response checksums off for a call. The SDK (1.73)
// compares before it has read the body of a refused write to its end, and so
// logs a warning for each duplicate. TLS protects the responses anyway.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
