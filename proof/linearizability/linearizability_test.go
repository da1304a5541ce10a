package linearizability

import (
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/redis/redislocal"
)

// The shares of all rows are 100. A new store gets a row here.

func TestMemory(t *testing.T) {
	Check(t, openMemory, &Options{InMemory: true, Histories: share(t, 10)})
}

func TestMemoryCalm(t *testing.T) {
	Check(t, openMemory, &Options{InMemory: true, Calm: true, Histories: share(t, 10)})
}

func TestDynamoDB(t *testing.T) {
	w := wireTo(t, true)
	Check(t, openDynamoDB(w, nil), &Options{Wire: w, Histories: share(t, 25)})
}

func TestDynamoDBCalm(t *testing.T) {
	w := wireTo(t, false)
	Check(t, openDynamoDB(w, nil), &Options{Wire: w, Histories: share(t, 5)})
}

// The writes of all histories that are made at the same time share requests.
// The wire drops, delays and doubles whole ones.
func TestDynamoDBWithGroupCommit(t *testing.T) {
	w := wireTo(t, true)
	Check(t, openDynamoDB(w, grouped), &Options{Wire: w, ReadsAfterRefusal: true, Histories: share(t, 10)})
	w.mustShare(t)
}

func TestDynamoDBWithGroupCommitCalm(t *testing.T) {
	w := wireTo(t, false)
	Check(t, openDynamoDB(w, grouped), &Options{Wire: w, ReadsAfterRefusal: true, Histories: share(t, 5)})
	w.mustShare(t)
}

// The wire drops statements and answers, and delays statements. It doubles none:
// TCP does not.
func TestPostgreSQL(t *testing.T) {
	var w *pgWire
	open := openPostgreSQL(func(opened *pgWire) { w = opened }, nil)
	Check(t, open, &Options{Calm: true, Histories: share(t, 15)})
	w.mustHaveFailed(t, pass, unsent, lost, held, slow)
}

func TestPostgreSQLCalm(t *testing.T) {
	Check(t, openPostgreSQL(nil, nil), &Options{Calm: true, Histories: share(t, 5)})
}

// The wire drops, delays and doubles commands, and cuts connections after sending. The
// client repeats a request that has no answer.
func TestRedis(t *testing.T) {
	var w *redisWire
	Check(t, openRedis(&w, true, nil), &Options{Calm: true, Histories: share(t, 10)})
	w.mustHaveFailed(t, pass, unsent, lost, held, doubled, followed, slow)
}

func TestRedisCalm(t *testing.T) {
	var w *redisWire
	Check(t, openRedis(&w, false, nil), &Options{Calm: true, Histories: share(t, 5)})
}

// With one request in flight, most writes wait for the one before.
var grouped = &dynamo.Options{Group: 1}

func (w *Wire) mustShare(t *testing.T) {
	t.Helper()
	check.Differ(t, w.batches.Load(), 0, "no two writes shared a request")
	t.Logf("%d requests with several writes", w.batches.Load())
}

func TestMain(m *testing.M) {
	withRedis := serving.Tests(func() int { return redislocal.Main(m, nil) })
	withPostgreSQL := serving.Tests(func() int { return postgreslocal.Main(withRedis) })
	os.Exit(dynamodblocal.Main(withPostgreSQL))
}

// share returns the histories of one row: hundredths of all, which are 300 in CI
// and $ONCE_HISTORIES in make torture.
func share(t *testing.T, hundredths int) int {
	t.Helper()
	all := 300
	if text := os.Getenv("ONCE_HISTORIES"); text != "" {
		var err error
		if all, err = strconv.Atoi(text); err != nil {
			t.Fatalf("ONCE_HISTORIES is %q, which is no number", text)
		}
	}
	return all * hundredths / 100
}

func openMemory(*testing.T) driver.Store { return memory.New(0) }

// openDynamoDB returns a function that opens a DynamoDB store behind the wire.
// The SDK's own retries are on.
func openDynamoDB(w *Wire, options *dynamo.Options) func(*testing.T) driver.Store {
	return func(t *testing.T) driver.Store {
		client, table := dynamodblocal.NewTable(t)
		connections := &http.Transport{MaxIdleConnsPerHost: 32}
		t.Cleanup(connections.CloseIdleConnections)
		o := client.Options()
		o.BaseEndpoint = &w.URL
		o.HTTPClient = &http.Client{Transport: connections}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 10 * time.Millisecond })
		s, err := dynamo.New(dynamodb.New(o), table, options)
		check.Must(t, err)
		return s
	}
}

func wireTo(t *testing.T, faults bool) *Wire {
	return NewWire(t, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), faults)
}
