package crashmatrix

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/local/kill"
)

func (s *stage) tableName() string {
	name := "crashmatrix-" + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables = append(s.tables, name)
	return name
}

// table creates a table with the key id, for records or anything else.
func (s *stage) table(ctx context.Context) (string, error) {
	name := s.tableName()
	return name, dynamo.CreateTable(ctx, s.client, name, nil)
}

// outboxTables are the tables of a function that commits messages.
type outboxTables struct{ records, orders, outbox string }

func (s *stage) outboxTables(ctx context.Context) (t outboxTables, err error) {
	if t.records, err = s.table(ctx); err != nil {
		return t, err
	}
	if t.orders, err = s.table(ctx); err != nil {
		return t, err
	}
	t.outbox = s.tableName()
	return t, outbox.CreateTable(ctx, s.client, t.outbox)
}

func (s *stage) items(ctx context.Context, table string) ([]map[string]types.AttributeValue, error) {
	out, err := s.client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Items, nil
}

// deleteTables ignores the context of the runs, which may be done.
func (s *stage) deleteTables() error {
	ctx, cancel := context.WithTimeout(context.Background(), kill.Patience)
	defer cancel()
	var errs []error
	for _, name := range s.tables {
		_, err := s.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		if _, never := errors.AsType[*types.ResourceNotFoundException](err); !never {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
