package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo/internal/fault"
)

// warmID is the id of no record: they begin with an operation.
const warmID = "#warm"

// Warm opens a connection to DynamoDB and gets the client's credentials, so that
// the first call does not wait for them. Call it when the process starts. It
// moves latency and saves nothing, because Lambda also bills the initialization.
//
// Warm sends one eventually consistent read of a record that does not exist,
// which takes half a read unit. Later calls use its connection in turn. Calls that
// run at the same time open their own.
//
// Warm needs no permission. A read that is denied has opened the connection, and
// is no error, because a role may be limited to the records of its operations.
// Further failures are an [*Error], such as a table that is missing or has different
// keys, or no credentials. The function can start all the same: its calls
// report a check that fails.
func (s *Store) Warm(ctx context.Context) error {
	_, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{Key: s.format.Key(warmID), TableName: &s.table}, quiet)
	if err == nil || fault.Denied(err) {
		return nil
	}
	return s.fail("GetItem", err)
}
