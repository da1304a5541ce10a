package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/dynamo"
)

type dynamodbFlags struct {
	endpoint, region, profile string
	options                   dynamo.Options
	native                    bool
	function                  *deployed // that once check asks, or nil
}

func (o *dynamodbFlags) add(f *flag.FlagSet, table *string) {
	f.StringVar(table, "table", os.Getenv("IDEMPOTENCY_TABLE"), "the `name` or ARN of the table; without it, $IDEMPOTENCY_TABLE")
	f.StringVar(&o.endpoint, "endpoint", "", "the `URL` of DynamoDB, such as DynamoDB Local's")
	f.StringVar(&o.region, "region", "", "the `name` of the AWS Region")
	f.StringVar(&o.profile, "profile", "", "the `name` of a profile of the AWS configuration")
	f.StringVar(&o.options.Layout.SortKey, "sort-key", "", "the `name` of the attribute that holds the record's id, in a table with a composite key")
	f.StringVar(&o.options.Layout.Partition, "partition", "", "the `text` of the records' partition key, with --sort-key")
	f.IntVar(&o.options.Layout.Shards, "shards", 0, "the `number` of shards of the partition, with --sort-key")
	f.BoolVar(&o.native, "native", false, "results are native attribute values, as Powertools for TypeScript writes them")
	a := &o.options.Layout
	renames(f, "attribute", "a renamed attribute as `name=attribute`, of attempt, began, data, ended, expiration, id, lease, owner, refunds, request, status, steps and validation; repeatable", map[string]*string{
		"attempt": &a.Attempt, "began": &a.Began, "data": &a.Data, "ended": &a.Ended, "expiration": &a.Expiration, "id": &a.ID, "lease": &a.Lease,
		"owner": &a.Owner, "refunds": &a.Refunds, "request": &a.Request, "status": &a.Status, "steps": &a.Steps, "validation": &a.Validation,
	})
}

// renames adds a flag that renames fields.
func renames(f *flag.FlagSet, flag, usage string, fields map[string]*string) {
	f.Func(flag, usage, func(s string) error {
		name, to, _ := strings.Cut(s, "=") // without "=", to is empty
		field, ok := fields[name]
		if !ok || to == "" {
			return fmt.Errorf("it is not name=%s with a known name", flag)
		}
		*field = to
		return nil
	})
}

type table struct {
	name      string
	client    *dynamodb.Client
	partition string        // with a composite key
	attr      dynamo.Layout // with the names that check needs
	resume    bool          // check the index of handlers.Resume
	function  *deployed     // whose role is checked in place of the caller, or nil
}

func (o *dynamodbFlags) open(ctx context.Context, name string, w *waits) (*store, error) {
	if name == "" {
		return nil, endf(codeUsage, "set --table or IDEMPOTENCY_TABLE")
	}
	if o.options.Layout.SortKey == "" && (o.options.Layout.Partition != "" || o.options.Layout.Shards != 0) {
		return nil, endf(codeUsage, "--partition and --shards need the --sort-key")
	}
	cfg, err := o.load(ctx, w)
	if err != nil {
		return nil, err
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
	}
	function := os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
	if o.function != nil {
		function = o.function.function
	}
	if options.Layout.SortKey != "" { // its default, without which no store is shared
		options.Layout.Partition = cmp.Or(options.Layout.Partition, "idempotency#"+function)
	}
	records, err := dynamo.New(client, name, &options)
	if err != nil {
		return nil, &ending{codeUsage, err}
	}
	// Powertools may read the results, if it has these options.
	if shared, err := records.Shared(o.native); err == nil {
		records = shared.(*dynamo.Store)
	}
	a := options.Layout
	a.ID, a.Owner, a.Expiration = cmp.Or(a.ID, "id"), cmp.Or(a.Owner, "owner"), cmp.Or(a.Expiration, "expiration")
	a.Lease = cmp.Or(a.Lease, "in_progress_expiration")
	t := &table{name: name, client: client, attr: a, resume: options.Resume, function: o.function}
	if a.SortKey != "" {
		if t.partition = a.Partition; a.Shards > 1 {
			t.partition += "#0"
		}
	}
	return &store{Operable: records, place: "table " + name, check: t.check, repair: t.repair, size: t.size}, nil
}

// load reads the configuration of AWS.
func (o *dynamodbFlags) load(ctx context.Context, w *waits) (aws.Config, error) {
	load := []func(*config.LoadOptions) error{config.WithAPIOptions([]func(*middleware.Stack) error{w.aws})}
	if o.region != "" {
		load = append(load, config.WithRegion(o.region))
	}
	if o.profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return cfg, err
	}
	if cfg.Region == "" {
		return cfg, endf(codeUsage, "no AWS Region: set --region or AWS_REGION, or a region in the profile")
	}
	return cfg, nil
}

// partitions returns the partition keys that a record with this id could have.
func (t *table) partitions(id string) (keys []string) {
	switch {
	case t.attr.SortKey == "":
		return []string{id}
	case t.attr.Shards <= 1:
		return []string{t.partition}
	}
	for shard := range t.attr.Shards {
		keys = append(keys, fmt.Sprint(t.attr.Partition, "#", shard))
	}
	return keys
}

// key returns the primary key that an item with this id could have, in the first of the
// shards.
func (t *table) key(id string) map[string]types.AttributeValue {
	text := &types.AttributeValueMemberS{Value: id}
	if t.attr.SortKey == "" {
		return map[string]types.AttributeValue{t.attr.ID: text}
	}
	return map[string]types.AttributeValue{t.attr.ID: &types.AttributeValueMemberS{Value: t.partition}, t.attr.SortKey: text}
}
