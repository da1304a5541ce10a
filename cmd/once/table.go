package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/recorditem"
)

// tableFlags name the table of the records.
type tableFlags struct {
	name, endpoint, region, profile string
	options                         dynamo.Options
	native                          bool
}

func (o *tableFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.name, "table", os.Getenv("IDEMPOTENCY_TABLE"), "the `name` or ARN of the table; without it, $IDEMPOTENCY_TABLE")
	f.StringVar(&o.endpoint, "endpoint", "", "the `URL` of DynamoDB, such as DynamoDB Local's")
	f.StringVar(&o.region, "region", "", "the `name` of the AWS Region")
	f.StringVar(&o.profile, "profile", "", "the `name` of a profile of the AWS configuration")
	f.StringVar(&o.options.Attributes.SortKey, "sort-key", "", "the `name` of the attribute that holds the record's id, in a table with a composite key")
	f.StringVar(&o.options.Partition, "partition", "", "the `text` of the records' partition key, with --sort-key")
	f.IntVar(&o.options.Shards, "shards", 0, "the `number` of shards of the partition, with --sort-key")
	f.BoolVar(&o.native, "native", false, "results are native attribute values, as Powertools for TypeScript writes them")
	f.Func("attribute", "a renamed attribute as `name=attribute`, of attempt, data, expiration, id, lease, owner, refunds, status, steps and validation; repeatable", o.rename)
}

func (o *tableFlags) rename(s string) error {
	a := &o.options.Attributes
	name, to, _ := strings.Cut(s, "=")
	field, ok := map[string]*string{
		"attempt": &a.Attempt, "data": &a.Data, "expiration": &a.Expiration, "id": &a.ID, "lease": &a.Lease,
		"owner": &a.Owner, "refunds": &a.Refunds, "status": &a.Status, "steps": &a.Steps, "validation": &a.Validation,
	}[name]
	if !ok || to == "" {
		return errors.New("it is not name=attribute with a known name")
	}
	*field = to
	return nil
}

// table is an open table.
type table struct {
	name   string
	client *dynamodb.Client
	store  *dynamo.Store
	format *recorditem.Format
	attr   recorditem.Attributes
	ahead  time.Duration // of this machine's clock is DynamoDB's
}

// now returns the time by DynamoDB's clock, in whole seconds, once DynamoDB has
// responded: a laptop whose clock is ahead would take a live lease for a lapsed
// one.
func (t *table) now() time.Time { return time.Now().Add(t.ahead) }

func (t *table) observed(m middleware.Metadata) {
	if at, ok := awsmiddleware.GetServerTime(m); ok {
		t.ahead = time.Until(at)
	}
}

func (o *tableFlags) open(ctx context.Context) (*table, error) {
	if o.name == "" {
		return nil, endf(codeUsage, "set --table or IDEMPOTENCY_TABLE")
	}
	if o.options.Attributes.SortKey == "" && (o.options.Partition != "" || o.options.Shards != 0) {
		return nil, endf(codeUsage, "--partition and --shards need the --sort-key")
	}
	var load []func(*config.LoadOptions) error
	if o.region != "" {
		load = append(load, config.WithRegion(o.region))
	}
	if o.profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, endf(codeUsage, "no AWS Region: set --region or AWS_REGION, or a region in the profile")
	}
	client := dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) {
		if o.endpoint != "" {
			d.BaseEndpoint = &o.endpoint
		}
		// Refused writes would log a warning: see package dynamo.
		d.DisableValidateResponseChecksum = true
	})
	options := o.options
	if o.native {
		options.Data = dynamo.Native
	} else {
		options.CompressAbove = -1 // Powertools may read what once writes
	}
	store, err := dynamo.New(client, o.name, &options)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	format, err := recorditem.New(recorditem.Options{
		Attributes: recorditem.Attributes(options.Attributes), CompressAbove: options.CompressAbove, Native: o.native,
		Partition: options.Partition, Shards: options.Shards,
	})
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	return &table{name: o.name, client: client, store: store, format: format, attr: format.Attr}, nil
}

// key returns the primary key of a record's item.
func (t *table) key(id string) (map[string]types.AttributeValue, error) {
	if err := t.format.CheckID(id); err != nil {
		return nil, err
	}
	return t.format.Key(id), nil
}

// get reads an item, whether it is a sound record or not.
func (t *table) get(ctx context.Context, id string) (*record, error) {
	key, err := t.key(id)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{ConsistentRead: aws.Bool(true), Key: key, TableName: &t.name})
	if err != nil {
		return nil, t.failed(err)
	}
	t.observed(out.ResultMetadata)
	if len(out.Item) == 0 {
		return nil, endf(codeNoRecord, "no record %s in table %s", printable(id), t.name)
	}
	return t.record(out.Item), nil
}

// failed returns the error of a call, with the table and advice.
func (t *table) failed(err error) error {
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("there is no table %s in this account and Region; see --table, --region and --profile: %w", t.name, err)
	}
	return fmt.Errorf("table %s: %w", t.name, err)
}
