package redis

import (
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

func TestMain(m *testing.M) { os.Exit(redislocal.Main(m, nil)) }

// newStore returns a store with a prefix of its own.
func newStore(t *testing.T) (*Store, *redis.Client) {
	t.Helper()
	client, prefix := redislocal.NewClient(t)
	return storeOn(t, client, &Options{Prefix: prefix}), client
}

func storeOn(t *testing.T, client Client, o *Options) *Store {
	t.Helper()
	s, err := New(client, o)
	check.Must(t, err)
	return s
}

// newServer returns a server that no other test uses.
func newServer(t *testing.T, args ...string) *redislocal.Server {
	t.Helper()
	return redislocal.NewServer(t, &redislocal.Options{Args: append([]string{"--maxclients", "1000"}, args...)})
}

// plant returns a function that writes a record as it is.
func plant(s *Store, client redis.Cmdable) func(*testing.T, driver.Record) {
	return func(t *testing.T, r driver.Record) {
		t.Helper()
		key := s.options.Prefix + r.ID
		check.Must(t, client.Del(t.Context(), key).Err())
		if r.Status == driver.Absent {
			return
		}
		check.Must(t, client.HSet(t.Context(), key, steps(fields(nil, millis(r.Lease), seconds(r.Expires), r), r.Steps)...).Err())
	}
}

// claim returns a record that alice claims now.
func claim(id string) driver.Record {
	now := time.Now()
	return driver.Record{ID: id, Status: driver.InProgress, Owner: "alice", Attempt: 1, Fingerprint: "f",
		Lease: now.Add(time.Minute), Expires: now.Add(time.Hour), Began: now}
}

func created(t *testing.T, s *Store, r driver.Record) driver.Record {
	t.Helper()
	r, ok, err := s.Create(t.Context(), r, time.Now(), nil)
	if err != nil || !ok {
		t.Fatalf("Create: ok %v, error %v", ok, err)
	}
	return r
}

// changed makes a change as the owner of r.
func changed(t *testing.T, s *Store, r driver.Record, c driver.Change) {
	t.Helper()
	if _, ok, err := s.Change(t.Context(), fenceOf(r), c); err != nil || !ok {
		t.Fatalf("%+v: ok %v, %v", c, ok, err)
	}
}

func fenceOf(r driver.Record) driver.Fence {
	return driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}
}
