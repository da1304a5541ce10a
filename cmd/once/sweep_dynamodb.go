package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
)

// dynamoDBSweep sweeps a table of DynamoDB.
type dynamoDBSweep struct {
	*table
	store  *dynamo.Store
	client *sweepClient
}

func (o *sweepFlags) openSweep(ctx context.Context) (sweeper, error) {
	t, err := o.tableFlags.open(ctx)
	if err != nil {
		return nil, err
	}
	client := &sweepClient{Client: t.client, dryRun: o.dryRun}
	store, err := dynamo.New(client, t.name, &o.options)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	return &dynamoDBSweep{t, store, client}, nil
}

// now asks with a read of one item, which needs no permission that the sweep does
// not need.
func (d *dynamoDBSweep) now(ctx context.Context) (time.Time, error) {
	out, err := d.table.client.Scan(ctx, &dynamodb.ScanInput{Limit: aws.Int32(1), TableName: &d.name})
	if err != nil {
		return time.Time{}, d.failed(err)
	}
	d.observed(out.ResultMetadata)
	return d.table.now(), nil
}

func (d *dynamoDBSweep) sweep(ctx context.Context, s *swept, limit int, p *progress) (err error) {
	d.client.progress = p
	s.Records, s.After, err = d.store.Sweep(ctx, s.Before, limit, s.After)
	s.Complete = err == nil && s.After == ""
	var position *dynamo.OptionsError
	if errors.As(err, &position) {
		return &ending{codeUsage, err}
	}
	return err
}

func (d *dynamoDBSweep) close() {}

// A sweepClient is the client of one sweep.
type sweepClient struct {
	*dynamodb.Client
	dryRun   bool
	progress *progress
	deleted  atomic.Int64
}

// Scan shows the progress before it reads the next page.
func (c *sweepClient) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	c.progress.swept = int(c.deleted.Load())
	page := *in
	page.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := c.Client.Scan(ctx, &page, options...)
	if err == nil {
		c.progress.page(out)
	}
	return out, err
}

// DeleteItem completes a deletion that has begun when ctx ends: without its answer,
// nobody knows whether the record is deleted. A dry run sends nothing.
func (c *sweepClient) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.dryRun:
		out = &dynamodb.DeleteItemOutput{}
	default:
		out, err = c.Client.DeleteItem(context.WithoutCancel(ctx), in, options...)
	}
	if err == nil {
		c.deleted.Add(1)
	}
	return out, err
}
