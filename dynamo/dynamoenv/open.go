// Package dynamoenv opens the store of a function from its environment: the
// variables that the constructs of package infra and template.yaml set.
//
//	store, err := dynamoenv.Open(ctx, nil)
//
// It needs the SDK's config loader with its sources of credentials, and links package
// emf, which users of package dynamo alone do not.
package dynamoenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
)

// The variables that this package reads. The SDK reads its own, such as
// AWS_REGION and AWS_ENDPOINT_URL_DYNAMODB.
const (
	TableVariable   = "IDEMPOTENCY_TABLE" // the table of the records, by its name or ARN
	OutboxVariable  = "OUTBOX_TABLE"      // the table of the outbox; optional
	MetricsVariable = "ONCE_METRICS"      // "emf": see [Store.DefaultObserver]; optional
)

// Options are the options of [Open]. The zero value of every field is its default.
type Options struct {
	// Client is the client of the store. Set it if the function has tables of its
	// own, so that both share connections and credentials.
	//
	// Default: a new [Client].
	Client dynamo.Client

	// Store are the options of the store. If its Outbox is empty, Open uses
	// $OUTBOX_TABLE.
	//
	// Default: those of [dynamo.New].
	Store *dynamo.Options
}

// Open returns a store in the table $IDEMPOTENCY_TABLE. Open sends nothing to
// DynamoDB: the first call, or the command once check, shows whether the table
// fits.
//
// It returns a [*NotSetError] if IDEMPOTENCY_TABLE is not set, a
// [*driver.ConfigError] if ONCE_METRICS is neither empty nor "emf", and the errors of
// [Client] and [dynamo.New].
func Open(ctx context.Context, options *Options) (*Store, error) {
	o := *cmp.Or(options, &Options{})
	table := os.Getenv(TableVariable)
	if table == "" {
		return nil, &NotSetError{Variable: TableVariable}
	}
	metrics, err := defaultObserver()
	if err != nil {
		return nil, err
	}
	s := *cmp.Or(o.Store, &dynamo.Options{})
	s.Outbox = cmp.Or(s.Outbox, os.Getenv(OutboxVariable))
	if o.Client == nil {
		client, err := Client(ctx)
		if err != nil {
			return nil, err
		}
		o.Client = client
	}
	store, err := dynamo.New(o.Client, table, &s)
	if err != nil {
		return nil, err
	}
	return &Store{Store: store, metrics: metrics}, nil
}

// Client returns a client of DynamoDB with the SDK's default configuration: its
// environment variables, its files and the role of the function. It returns a
// [*NotSetError] if none of them names a Region or an endpoint.
func Client(ctx context.Context) (*dynamodb.Client, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("dynamoenv: load the SDK's configuration: %w", err)
	}
	client := dynamodb.NewFromConfig(cfg)
	if o := client.Options(); o.Region == "" && o.BaseEndpoint == nil {
		return nil, &NotSetError{Variable: "AWS_REGION"}
	}
	return client, nil
}

// ErrNotSet is the sentinel of [*NotSetError], for errors.Is.
var ErrNotSet = errors.New("dynamoenv: not set")

// NotSetError reports that the environment lacks a variable.
type NotSetError struct{ Variable string }

func (e *NotSetError) Error() string {
	if e.Variable == TableVariable {
		return fmt.Sprintf("dynamoenv: %s is not set; set it to the name or ARN of the table of the records, as infra.NewIdempotentFunction and template.yaml do", e.Variable)
	}
	return fmt.Sprintf("dynamoenv: %s is not set, and no other source of the SDK's names a Region; set it (Lambda does)", e.Variable)
}

// SafeText returns the whole text.
func (e *NotSetError) SafeText() string { return e.Error() }

// Is reports whether target is ErrNotSet.
func (e *NotSetError) Is(target error) bool { return target == ErrNotSet }
