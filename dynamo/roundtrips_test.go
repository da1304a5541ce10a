package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// counter counts requests where they leave the process: what the SDK does by
// itself is seen here as well.
type counter struct {
	sent atomic.Int64
	to   *http.Transport
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.to.RoundTrip(r)
}

func TestRoundTrips(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	wire := &counter{to: &http.Transport{}}
	t.Cleanup(wire.to.CloseIdleConnections)
	options := client.Options()
	options.HTTPClient = &http.Client{Transport: wire}
	store, err := dynamo.New(dynamodb.New(options), table, nil)
	check.Must(t, err)
	executor := func(c *idempotent.Config) *idempotent.Executor {
		x, err := idempotent.New("op", store, c)
		check.Must(t, err)
		return x
	}
	plain, cached := executor(nil), executor(&idempotent.Config{CacheEntries: 10})
	reads := executor(&idempotent.Config{ReadFirst: true})

	// run returns the number of requests and of runs of one call.
	run := func(x *idempotent.Executor, id string, end error) (requests int64, runs int, err error) {
		before := wire.sent.Load()
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: id, Payload: "p"}, func(context.Context) (string, error) {
			runs++
			return "result", end
		})
		return wire.sent.Load() - before, runs, err
	}
	create := func(id string, lease time.Time) {
		t.Helper()
		r := driver.Record{
			ID: id, Status: driver.InProgress, Owner: "other", Attempt: 1,
			Lease: lease, Expires: time.Now().Add(time.Hour),
		}
		if _, ok, err := store.Create(t.Context(), r, time.Time{}, nil); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	create("running", time.Now().Add(time.Minute))
	create("lapsed", time.Now().Add(-time.Minute))
	create("lapsed, too", time.Now().Add(-time.Minute))

	errBusy, errDeclined := errors.New("busy"), errors.New("declined")
	for _, c := range []struct {
		name     string
		x        *idempotent.Executor
		id       string
		end      error
		requests int64
		runs     int
		err      error
	}{
		{"first call", plain, "a", nil, 2, 1, nil},
		{"duplicate of a finished one", plain, "a", nil, 1, 0, nil},
		{"duplicate that fills the cache", cached, "a", nil, 1, 0, nil},
		{"from the cache", cached, "a", nil, 0, 0, nil},
		{"first call with a cache", cached, "b", nil, 2, 1, nil},
		{"from its own cache", cached, "b", nil, 0, 0, nil},
		{"duplicate of a running one", plain, "running", nil, 1, 0, idempotent.ErrInProgress},
		{"released error", plain, "c", errBusy, 2, 1, errBusy},
		{"retry after a released error", plain, "c", nil, 2, 1, nil},
		{"permanent error", plain, "d", idempotent.Permanent(errDeclined), 2, 1, errDeclined},
		{"replay of a permanent error", plain, "d", nil, 1, 0, idempotent.ErrReplayed},
		{"takeover", plain, "lapsed", nil, 3, 1, nil},
		{"first call that reads first", reads, "e", nil, 3, 1, nil},
		{"duplicate that reads first", reads, "e", nil, 1, 0, nil},
		{"duplicate of a running one that reads first", reads, "running", nil, 1, 0, idempotent.ErrInProgress},
		{"takeover that reads first", reads, "lapsed, too", nil, 3, 1, nil},
	} {
		requests, runs, err := run(c.x, c.id, c.end)
		check.Equal(t, requests, c.requests, c.name)
		check.Equal(t, runs, c.runs, c.name)
		check.Is(t, err, c.err, c.name)
	}

	// A finished step is one write and no read, whether the claim is the first
	// or one that finds steps of an earlier attempt.
	for attempt, want := range []int64{3, 4} {
		before := wire.sent.Load()
		_, err := idempotent.Do(t.Context(), plain, idempotent.Key{Record: "steps"}, func(ctx context.Context) (string, error) {
			if _, err := idempotent.Step(ctx, "one", func(context.Context) (string, error) { return "", nil }); err != nil || attempt == 0 {
				return "", errors.Join(err, errBusy)
			}
			return idempotent.Step(ctx, "two", func(context.Context) (string, error) { return "", nil })
		})
		// Claim, step, release; then claim, takeover, step and completion.
		requests := wire.sent.Load() - before
		check.Equal(t, requests, want)
		check.Equal(t, errors.Is(err, errBusy), attempt == 0)
	}
}
