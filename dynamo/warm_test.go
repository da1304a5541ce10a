package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// fresh is a client that has sent nothing yet. It counts the connections that
// it opens, and the times that it gets credentials.
type fresh struct {
	*dynamodb.Client
	connections, credentials atomic.Int64
}

func newFresh(t *testing.T, of *dynamodb.Client) *fresh {
	f := &fresh{}
	options := of.Options()
	known := options.Credentials
	options.Credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		f.credentials.Add(1)
		return known.Retrieve(ctx)
	}))
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		f.connections.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	options.HTTPClient = &http.Client{Transport: transport}
	f.Client = dynamodb.New(options)
	return f
}

// A busy machine may close a connection instead of keeping it, so that one call of
// several that finds it open is enough.
func TestWarmOpensTheConnectionOfTheFirstCall(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	const tries = 20
	for try := 1; ; try++ {
		f := newFresh(t, client)
		store, err := dynamo.New(f, table, nil)
		check.Must(t, err)
		check.Must(t, store.Warm(t.Context()))
		if c, k := f.connections.Load(), f.credentials.Load(); c != 1 || k != 1 {
			t.Errorf("after Warm: %d connections opened, and credentials got %d times", c, k)
		}
		x, err := idempotent.New("op", store, nil)
		check.Must(t, err)
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: fmt.Sprint(try)}, func(context.Context) (string, error) { return "done", nil })
		check.Must(t, err)
		check.Equal(t, f.credentials.Load(), 1)
		c := f.connections.Load()
		if c == 1 {
			return
		}
		if try == tries {
			t.Fatalf("after the first call: %d connections opened, in each of %d tries", c, tries)
		}
	}
}

func TestWarmReadsHalfAUnitAndWritesNothing(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	r := &reading{metered: metered{Client: client}}
	store, err := dynamo.New(r, table, nil)
	check.Must(t, err)
	check.Must(t, store.Warm(t.Context()))
	got, want := r.consumed(), (consumed{reads: 1, readUnits: 0.5})
	check.Equal(t, got, want, "it takes")
	all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	check.Nil(t, err)
	check.Equal(t, len(all.Items), 0)
}

// refusing is a client whose reads fail.
type refusing struct {
	dynamo.Client
	err error
}

func (r refusing) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "GetItem", Err: r.err}
}

func TestWarmReports(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx     context.Context
		client  dynamo.Client
		table   string
		options *dynamo.Options
		advice  string // "": no error
	}{
		"nothing":                {client: client, table: table},
		"a missing table":        {client: client, table: "missing", advice: "does not exist"},
		"other keys":             {client: client, table: table, options: &dynamo.Options{Layout: dynamo.Layout{SortKey: "sk"}}, advice: `the sort key "sk"`},
		"the end of its context": {ctx: gone, client: client, table: table, advice: "cancelled"},
		// A role may read only the records of its operations.
		"no denial":     {client: refusing{err: &smithy.GenericAPIError{Code: "AccessDeniedException"}}, table: table},
		"no identity":   {client: refusing{err: errors.New("get identity: no EC2 IMDS role found")}, table: table, advice: "no valid credentials"},
		"a denied role": {client: refusing{err: fmt.Errorf("get identity: %w", &smithy.GenericAPIError{Code: "AccessDenied"})}, table: table, advice: "no valid credentials"},
		"throttling":    {client: refusing{err: &types.ProvisionedThroughputExceededException{}}, table: table, advice: "throttled"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := dynamo.New(test.client, test.table, test.options)
			check.Must(t, err)
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			err = store.Warm(test.ctx)
			var failed *dynamo.Error
			switch {
			case test.advice == "" && err != nil:
				t.Error(err)
			case test.advice != "" && (!errors.As(err, &failed) || failed.Op != "GetItem" || failed.Table != test.table || !strings.Contains(failed.Advice, test.advice)):
				t.Errorf("%v, want advice that contains %q", err, test.advice)
			}
		})
	}
}
