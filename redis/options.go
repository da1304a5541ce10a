package redis

import (
	"cmp"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [New]. The zero value of every field is its default.
type Options struct {
	// Prefix begins the key of each record; the record's id follows. A changed
	// Prefix loses records.
	//
	// Default: "once:".
	Prefix string

	// Replicas is how many replicas acknowledge the data behind an answer before the
	// store returns it. The store sends WAIT after each script, in the same round trip.
	// If fewer replicas acknowledge in time, the call returns a [*ReplicationError], and
	// the record stays written. A duplicate then writes, too. The client must be a
	// *redis.Client or a *redis.ClusterClient.
	//
	// It makes the loss of a claim at a failover less likely, and does not exclude
	// it: Redis may promote a replica that has acknowledged nothing.
	//
	// Default: 0. Answers do not wait.
	Replicas int

	// WaitTimeout limits the wait for Replicas, in whole milliseconds. It must be
	// shorter than the client's ReadTimeout.
	//
	// Default: 500 ms.
	WaitTimeout time.Duration
}

const (
	defaultPrefix      = "once:"
	defaultWaitTimeout = 500 * time.Millisecond
)

// resolve returns the options with their defaults.
func (o *Options) resolve(client Client) (Options, error) {
	c := *cmp.Or(o, &Options{})
	c.Prefix = cmp.Or(c.Prefix, defaultPrefix)
	c.WaitTimeout = cmp.Or(c.WaitTimeout, defaultWaitTimeout)
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "redis: the client is nil")
	mistakes.If(c.Replicas < 0, "redis: Options.Replicas is %d; it must not be negative", c.Replicas)
	// WAIT takes 0 as "forever".
	mistakes.If(c.WaitTimeout < time.Millisecond, "redis: Options.WaitTimeout is %v; it must be a millisecond at least", c.WaitTimeout)
	c.check(client, &mistakes)
	return c, mistakes.Err()
}

// check refuses clients with which the store would not keep its promises.
func (o Options) check(client Client, mistakes *driver.Mistakes) {
	var read time.Duration
	switch c := client.(type) {
	case *redis.Client:
		read = c.Options().ReadTimeout
	case *redis.ClusterClient:
		read = c.Options().ReadTimeout
	case *redis.Ring:
		mistakes.If(true, "redis: a *redis.Ring moves the keys of a server that does not respond to the others, "+
			"where a live claim is not found; use a *redis.Client or a *redis.ClusterClient")
	case redis.Pipeliner:
		mistakes.If(true, "redis: a redis.Pipeliner does not send what it is called for; use a *redis.Client or a *redis.ClusterClient")
	default:
		mistakes.If(client != nil && o.Replicas > 0, "redis: Options.Replicas needs a *redis.Client or a *redis.ClusterClient, and the client is a %T", client)
	}
	mistakes.If(o.Replicas > 0 && read > 0 && read <= o.WaitTimeout,
		"redis: Options.WaitTimeout, %v, must be shorter than the client's ReadTimeout, %v", o.WaitTimeout, read)
}
