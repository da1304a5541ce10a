package store

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/dynamo"
)

type DynamoDBFlags struct {
	endpoint, region, profile string
	Options                   dynamo.Options
	Native                    bool
	Function                  string // its name, without one that of the environment
}

func (o *DynamoDBFlags) add(f *flag.FlagSet, table *string) {
	f.StringVar(table, "table", os.Getenv("IDEMPOTENCY_TABLE"), "the `name` or ARN of the table; without it, $IDEMPOTENCY_TABLE")
	o.AddClient(f)
	f.StringVar(&o.Options.Layout.SortKey, "sort-key", "", "the `name` of the attribute that holds the record's id, in a table with a composite key")
	f.StringVar(&o.Options.Layout.Partition, "partition", "", "the `text` of the records' partition key, with --sort-key")
	f.IntVar(&o.Options.Layout.Shards, "shards", 0, "the `number` of shards of the partition, with --sort-key")
	f.BoolVar(&o.Native, "native", false, "results are native attribute values, as Powertools for TypeScript writes them")
	a := &o.Options.Layout
	renames(f, "attribute", "a renamed attribute as `name=attribute`, of attempt, began, data, ended, expiration, id, lease, owner, refunds, request, status, steps and validation; repeatable", map[string]*string{
		"attempt": &a.Attempt, "began": &a.Began, "data": &a.Data, "ended": &a.Ended, "expiration": &a.Expiration, "id": &a.ID, "lease": &a.Lease,
		"owner": &a.Owner, "refunds": &a.Refunds, "request": &a.Request, "status": &a.Status, "steps": &a.Steps, "validation": &a.Validation,
	})
}

func (o *DynamoDBFlags) AddClient(f *flag.FlagSet) {
	f.StringVar(&o.endpoint, "endpoint", "", "the `URL` of DynamoDB, such as DynamoDB Local's")
	f.StringVar(&o.region, "region", "", "the `name` of the AWS Region")
	f.StringVar(&o.profile, "profile", "", "the `name` of a profile of the AWS configuration")
}

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

type Table struct {
	Name      string
	Client    *dynamodb.Client
	partition string        // with a composite key
	layout    dynamo.Layout // as the flags give it, with the partition
	Attr      dynamo.Layout // with the names that check needs
}

func (o *DynamoDBFlags) open(ctx context.Context, name string, w *Waits) (*Store, error) {
	if name == "" {
		return nil, cli.Endf(cli.CodeUsage, "set --table or IDEMPOTENCY_TABLE; records elsewhere need --postgres or --redis")
	}
	if o.Options.Layout.SortKey == "" && (o.Options.Layout.Partition != "" || o.Options.Layout.Shards != 0) {
		return nil, cli.Endf(cli.CodeUsage, "--partition and --shards need the --sort-key")
	}
	client, err := o.Client(ctx, w)
	if err != nil {
		return nil, err
	}
	options := o.Options
	if o.Native {
		options.Data = dynamo.Native
	}
	if options.Layout.SortKey != "" { // its default, without which no store is shared
		options.Layout.Partition = cmp.Or(options.Layout.Partition, "idempotency#"+cmp.Or(o.Function, os.Getenv("AWS_LAMBDA_FUNCTION_NAME")))
	}
	records, err := dynamo.New(client, name, &options)
	if err != nil {
		return nil, cli.Misuse(err)
	}
	// Powertools may read the results, if it has these options.
	if shared, err := records.Shared(o.Native); err == nil {
		records = shared.(*dynamo.Store)
	}
	a := options.Layout
	a.ID, a.Owner, a.Expiration = cmp.Or(a.ID, "id"), cmp.Or(a.Owner, "owner"), cmp.Or(a.Expiration, "expiration")
	a.Lease = cmp.Or(a.Lease, "in_progress_expiration")
	t := &Table{Name: name, Client: client, layout: options.Layout, Attr: a}
	if a.SortKey != "" {
		if t.partition = a.Partition; a.Shards > 1 {
			t.partition += "#0"
		}
	}
	return &Store{Operable: records, Place: "table " + name, Behind: t}, nil
}

// Where returns the ARN of the table, as each account may have one of this name, and its
// layout. Without the right to describe it, the name stands for the ARN.
func (t *Table) Where(ctx context.Context) (string, error) {
	name, at := t.Name, t.Client.Options()
	d, err := t.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	var api smithy.APIError
	switch {
	case err == nil:
		name = aws.ToString(d.Table.TableArn)
	case !errors.As(err, &api) || api.ErrorCode() != "AccessDeniedException":
		return "", err
	}
	layout := ""
	if t.layout != (dynamo.Layout{}) {
		layout = fmt.Sprintf("%+v", t.layout)
	}
	return cli.Present(", ", "table "+name, at.Region, aws.ToString(at.BaseEndpoint), layout), nil
}

// Client returns a client of DynamoDB. It sends nothing.
func (o *DynamoDBFlags) Client(ctx context.Context, w *Waits) (*dynamodb.Client, error) {
	cfg, err := o.Load(ctx, w)
	if err != nil {
		return nil, err
	}
	return dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) {
		if o.endpoint != "" {
			d.BaseEndpoint = &o.endpoint
		}
		// Refused writes would log a warning: see package dynamo.
		d.DisableValidateResponseChecksum = true
	}), nil
}

func (o *DynamoDBFlags) Load(ctx context.Context, w *Waits) (aws.Config, error) {
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
		return cfg, cli.Endf(cli.CodeUsage, "no AWS Region: set --region or AWS_REGION, or a region in the profile")
	}
	return cfg, nil
}

// Partitions returns the partition keys that a record with this id could have.
func (t *Table) Partitions(id string) (keys []string) {
	switch {
	case t.Attr.SortKey == "":
		return []string{id}
	case t.Attr.Shards <= 1:
		return []string{t.partition}
	}
	for shard := range t.Attr.Shards {
		keys = append(keys, fmt.Sprint(t.Attr.Partition, "#", shard))
	}
	return keys
}

// Key returns the primary key that an item with this id could have, in the first of the
// shards.
func (t *Table) Key(id string) map[string]types.AttributeValue {
	text := &types.AttributeValueMemberS{Value: id}
	if t.Attr.SortKey == "" {
		return map[string]types.AttributeValue{t.Attr.ID: text}
	}
	return map[string]types.AttributeValue{t.Attr.ID: &types.AttributeValueMemberS{Value: t.partition}, t.Attr.SortKey: text}
}
