package redis

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

// Client is the part of go-redis that a [Store] calls. *redis.Client, which also
// represents a primary behind Sentinel, and *redis.ClusterClient implement it.
//
// Set ContextTimeoutEnabled. A *redis.Client then ends its waits at the deadline of a call,
// and notices a cancellation at its ReadTimeout at the latest. With any other client, or
// without a ReadTimeout or WriteTimeout, the store sends each script on a goroutine. The
// call returns at the end of its context, and the goroutine when go-redis returns.
type Client interface {
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd
}

// A Store keeps records in Redis or Valkey. It is safe for concurrent use. Make one
// with [New].
type Store struct {
	client  Client
	options Options
	scripts scripts
	notes   sync.Map  // of servers that do not evict: see policy.lua
	warn    sync.Once // of a policy that is not checked

	endsAtDeadlines bool // the client does
}

// New returns a store on a server, a cluster, or a primary behind Sentinel. New sends
// nothing. It returns an [*driver.ConfigError] for arguments that are not valid.
//
// The store refuses claims on a server with a maxmemory-policy other than noeviction:
// see [EvictionError].
func New(client Client, options *Options) (*Store, error) {
	o, err := options.resolve(client)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, options: o, scripts: newScripts(o.Replicas > 0), endsAtDeadlines: endsAtDeadlines(client)}, nil
}

// Create writes r where there is no record or an expired one, as [driver.Store] requires. A
// finished record is written without lease and steps.
func (s *Store) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if err := cmp.Or(r.Validate(), checkValues(with, r.Lease, r.Expires, r.Began)); err != nil {
		return driver.Record{}, false, refused("Create", err)
	}
	r.Lease, r.Expires, r.Began, r.Steps = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires), driver.WholeMillis(r.Began), nil
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	lease, expires := millis(r.Lease), seconds(r.Expires)
	args := append(make([]any, 0, 24), seconds(cutoff), millis(cutoff), expires, lease)
	met, ok, err := s.run(ctx, s.scripts.create, r.ID, fields(args, lease, expires, r))
	if ok {
		return r, true, nil
	}
	return met, false, err
}

// Get returns a record, or the zero Record if there is none. It reads from the
// primary.
func (s *Store) Get(ctx context.Context, id string) (driver.Record, error) {
	if id == "" {
		return driver.Record{}, refused("Get", &driver.InvalidWriteError{Reason: "a record needs an id"})
	}
	r, _, err := s.run(ctx, s.scripts.get, id, nil)
	return r, err
}

// checkValues refuses values that no write of this store can contain. Scripts compare times as
// floating-point numbers, which are exact up to the year 9999.
func checkValues(with any, times ...time.Time) error {
	if with != nil {
		return &driver.InvalidWriteError{Reason: fmt.Sprintf("the Redis store cannot commit a %T together with a record", with)}
	}
	for _, t := range times {
		if !t.IsZero() && (t.Before(time.UnixMilli(0)) || t.UTC().Year() > 9999) {
			return &driver.InvalidWriteError{Reason: "a time that is not between the years 1970 and 9999"}
		}
	}
	return nil
}
