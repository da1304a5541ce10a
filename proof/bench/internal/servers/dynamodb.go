package servers

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// DynamoDB is DynamoDB Local.
type DynamoDB struct {
	server *dynamodblocal.Server
	addr   string
}

func startDynamoDB(ctx context.Context, log io.Writer) (*DynamoDB, error) {
	server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: log})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(server.Endpoint())
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &DynamoDB{server, u.Host}, nil
}

// Client returns a client of the server.
func (d *DynamoDB) Client() *dynamodb.Client { return d.server.Client() }

// Version implements [Server]: the version of the program that package dynamodblocal
// has fetched is the name of its folder.
func (d *DynamoDB) Version() string {
	const unknown = "DynamoDB Local of unknown version"
	cache, err := os.UserCacheDir()
	if err != nil || os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "" {
		return unknown
	}
	found, err := filepath.Glob(filepath.Join(cache, "once", "dynamodb-local", "*", "DynamoDBLocal.jar"))
	if err != nil || len(found) != 1 {
		return unknown
	}
	return "DynamoDB Local " + filepath.Base(filepath.Dir(found[0]))
}

// Addr implements [Server].
func (d *DynamoDB) Addr() string { return d.addr }

// Endpoint implements [Server].
func (d *DynamoDB) Endpoint(addr string) string { return "http://" + addr }

// CreateTable implements [Server].
func (d *DynamoDB) CreateTable(ctx context.Context, table string) error {
	return dynamo.CreateTable(ctx, d.Client(), table, nil)
}

// DropTable implements [Server].
func (d *DynamoDB) DropTable(ctx context.Context, table string) error {
	_, err := d.Client().DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
	return err
}

// Stop implements [Server].
func (d *DynamoDB) Stop() error { return d.server.Stop() }
