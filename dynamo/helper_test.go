package dynamo

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Short names for values of items.
var text, number, seconds, millis = attribute.Text, attribute.Number, attribute.Seconds, attribute.Millis

// newTable makes a table of its own in DynamoDB Local.
func newTable(t *testing.T, o *Options) (*dynamodb.Client, string) {
	t.Helper()
	client, table := newClient(t), "t-"+rand.Text()
	check.Must(t, CreateTable(t.Context(), client, table, o))
	return client, table
}

// newClient is a client of DynamoDB Local, with optional changes.
func newClient(t *testing.T, change ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	endpoint := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
	if endpoint == "" {
		t.Fatal("AWS_ENDPOINT_URL_DYNAMODB is not set, although TestMain sets it")
	}
	return dynamodb.New(clientOptions(endpoint), change...)
}

func clientOptions(endpoint string) dynamodb.Options {
	return dynamodb.Options{
		BaseEndpoint: &endpoint,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
		Region: "eu-central-1",
	}
}

// uncompressed has s store results as they are.
func uncompressed(t *testing.T, s *Store) *Store {
	t.Helper()
	format, err := s.options.format(true, nil)
	check.Must(t, err)
	s.format = format
	return s
}

func newStore(t *testing.T, client Client, table string, o *Options) *Store {
	t.Helper()
	s, err := New(client, table, o)
	check.Must(t, err)
	return s
}

// inOwnTable returns a store in a table of its own.
func inOwnTable(t *testing.T, o *Options) *Store {
	t.Helper()
	client, table := newTable(t, o)
	return newStore(t, client, table, o)
}

func executor(t *testing.T, s *Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New("op", s, config)
	check.Must(t, err)
	return x
}

// now lies years ahead: DynamoDB Local deletes an item within a second of
// its expiration, and these tests want to meet it.
var now = time.Date(2090, 1, 2, 3, 4, 5, 678e6, time.UTC)

const owner, rival = "owner-1", "owner-2"

func claim(id string) driver.Record {
	return driver.Record{
		ID: id, Status: driver.InProgress, Owner: owner, Attempt: 1,
		Lease: now.Add(time.Minute), Expires: now.Add(time.Hour), Began: now, Fingerprint: "f",
	}
}

func fence(id string) driver.Fence {
	return driver.Fence{ID: id, Owner: owner, Attempt: 1, Lease: now.Add(time.Minute)}
}

func create(t *testing.T, s *Store, r driver.Record) {
	t.Helper()
	if _, ok, err := s.Create(t.Context(), r, time.Time{}, nil); err != nil || !ok {
		t.Fatalf("Create: ok %v, %v", ok, err)
	}
}

// change applies c, requires success or not, and returns what is then stored.
func change(t *testing.T, s *Store, f driver.Fence, c driver.Change, want bool) (answer, stored driver.Record) {
	t.Helper()
	answer, ok, err := s.Change(t.Context(), f, c)
	if err != nil || ok != want {
		t.Fatalf("Change %+v: ok %v, want %v; %v", c, ok, want, err)
	}
	return answer, get(t, s, f.ID)
}

func get(t *testing.T, s *Store, id string) driver.Record {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	check.Must(t, err)
	return r
}

// putItem writes an item as another program would.
func putItem(t *testing.T, s *Store, item map[string]types.AttributeValue) {
	t.Helper()
	_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: item})
	check.Must(t, err)
}

// rawItem reads an item with all attributes.
func rawItem(t *testing.T, s *Store, id string) map[string]types.AttributeValue {
	t.Helper()
	out, err := s.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: s.format.Key(id), ConsistentRead: aws.Bool(true)})
	check.Must(t, err)
	return out.Item
}
