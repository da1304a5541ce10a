package dynamodblocal

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/serving"
)

// TB is the part of testing.TB that this package uses.
type TB = serving.TB

// M is the part of *testing.M that this package uses.
type M = serving.M

// NewTable returns a new table for records of Once, and its client. The table is deleted
// when the test ends.
//
// The server is the one named by AWS_ENDPOINT_URL_DYNAMODB, which [Main] and
// the command dynamodblocal set. Without one, each call starts a server and stops it
// with the test, which takes a second or two.
func NewTable(t TB) (client *dynamodb.Client, table string) {
	t.Helper()
	server := serving.ForTest(t, Start)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, table = server.Client(), serving.TestName(t, 100)+"-"+rand.Text()
	if err := dynamo.CreateTable(ctx, client, table, nil); err != nil {
		t.Fatalf("dynamodblocal: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			// The test may have stopped its server itself.
			t.Logf("dynamodblocal: delete table: %v", err)
		}
	})
	return client, table
}

// Main runs the tests of a package against one server, which it finds or starts, and
// returns the code for os.Exit:
//
//	func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
//
// Meanwhile the environment of the process contains the variables of [Server.Env].
func Main(m M) (code int) {
	return serving.Main(m, Start)
}
