package linearizability

import (
	"testing"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/check"
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
// client sends again what has no answer.
func TestRedis(t *testing.T) {
	var w *redisWire
	Check(t, openRedis(&w, true, nil), &Options{Calm: true, Histories: share(t, 10)})
	w.mustHaveFailed(t, pass, unsent, lost, held, doubled, followed, slow)
}

func TestRedisCalm(t *testing.T) {
	var w *redisWire
	Check(t, openRedis(&w, false, nil), &Options{Calm: true, Histories: share(t, 5)})
}

// One request in flight makes most writes wait for another.
var grouped = &dynamo.Options{Group: 1}

func (w *Wire) mustShare(t *testing.T) {
	t.Helper()
	check.Differ(t, w.batches.Load(), 0, "no two writes shared a request")
	t.Logf("%d requests with several writes", w.batches.Load())
}
