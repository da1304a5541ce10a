// Package tables is DynamoDB Local with tables that are deleted at the end, for the
// commands that prove something over many runs.
package tables

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// An Item is an item of a table.
type Item = map[string]types.AttributeValue

// A Server is DynamoDB Local. It may have been found running, and then goes on.
type Server struct {
	*dynamodblocal.Server
	*dynamodb.Client

	mu    sync.Mutex
	names []string
}

// Start finds or starts a server.
func Start(ctx context.Context, log io.Writer) (*Server, error) {
	s, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return &Server{Server: s, Client: s.Client()}, nil
}

// Name returns the name of a new table, which Close deletes.
func (s *Server) Name() string {
	name := "proof-" + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	return name
}

// Create creates a table with the key id, for records or anything else.
func (s *Server) Create(ctx context.Context) (name string, err error) {
	name = s.Name()
	return name, dynamo.CreateTable(ctx, s.Client, name, nil)
}

// Items returns all items of a table.
func (s *Server) Items(ctx context.Context, table string) (all []Item, err error) {
	pages := dynamodb.NewScanPaginator(s.Client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("scan of %s: %w", table, err)
		}
		all = append(all, page.Items...)
	}
	return all, nil
}

// Close deletes the tables and stops the server, also if the context of the runs is done.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, name := range s.names {
		_, err := s.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		if _, never := errors.AsType[*types.ResourceNotFoundException](err); !never {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, s.Stop())...)
}
