package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
)

// An Error reports that a script failed, or was refused before it was sent. It is
// [driver.ErrUnavailable] if the server could not be reached or could not write, and
// [driver.ErrThrottled] as well if its load or its memory was the cause. Its text
// contains no keys and no data.
type Error struct {
	Op     string // the script, such as "create", or the method that refused the call
	Advice string // the next step for the reader, or "" if none is known
	Err    error  // of go-redis, of the server, or about a stored hash
}

func (e *Error) Error() string {
	if e.Advice == "" {
		return fmt.Sprintf("redis: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("redis: %s: %s: %v", e.Op, e.Advice, e.Err)
}

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is one of [driver.ErrUnavailable],
// [driver.ErrThrottled] and [driver.ErrDenied] that applies.
func (e *Error) Is(target error) bool {
	c := causeOf(e.Err)
	switch target {
	case driver.ErrUnavailable:
		return c.unavailable
	case driver.ErrThrottled:
		return c.throttled
	case driver.ErrDenied:
		return c.advice == denied
	}
	return false
}

// An EvictionError reports that a server may evict live claims, because its
// maxmemory-policy is not noeviction. Two callers would then run at the same time.
// Nothing was written.
type EvictionError struct{ Policy string }

func (e *EvictionError) Error() string {
	return fmt.Sprintf("redis: the server's maxmemory-policy is %s, which evicts live claims; set it to noeviction, or use a server of its own for the records", e.Policy)
}

// SafeText returns the whole text.
func (e *EvictionError) SafeText() string { return e.Error() }

func evicts(policy []any) error {
	e := &EvictionError{Policy: "unknown"}
	if len(policy) == 1 {
		e.Policy = fmt.Sprint(policy[0])
	}
	return e
}

// refused returns the error of a call that is not sent.
func refused(op string, err error) error { return &Error{Op: op, Err: err} }

func (s *Store) fail(op string, err error) error {
	if short, ok := errors.AsType[*ReplicationError](err); ok {
		return short
	}
	return &Error{Op: op, Err: err, Advice: causeOf(err).advice}
}

type cause struct {
	unavailable, throttled bool
	advice                 string
}

const denied = "access denied; allow the commands of the scripts on the keys of the prefix"

// The errors of servers, by words in their texts. Redis 6 puts the error of a
// script's command into the middle of a text.
var causes = []struct {
	text string
	cause
}{
	{"OOM command not allowed", cause{true, true, "the memory is full; raise maxmemory. Running calls can still be recorded"}},
	{"max number of clients reached", cause{true, true, "too many connections; raise maxclients, or lower the client's PoolSize"}},
	{"BUSY ", cause{true, true, "another script keeps the server busy"}},
	{"LOADING ", cause{true, false, "the server is loading its data; try again"}},
	{"READONLY ", cause{true, false, "the server is a replica, as after a failover; connect through Sentinel, a cluster or the primary's endpoint"}},
	{"CLUSTERDOWN ", cause{true, false, "the cluster is down"}},
	{"MASTERDOWN ", cause{true, false, "the replica has no primary"}},
	{"TRYAGAIN ", cause{true, false, "the slot is moving; try again"}},
	{"MOVED ", cause{true, false, "the key has another primary; a cluster needs a *redis.ClusterClient"}},
	{"ASK ", cause{true, false, "the slot is moving; a cluster needs a *redis.ClusterClient"}},
	{"NOREPLICAS ", cause{true, false, "the primary has fewer replicas than min-replicas-to-write"}},
	{"MISCONF ", cause{true, false, "the server cannot save to disk, and refuses writes"}},
	{"NOAUTH ", cause{advice: "no credentials; set the client's Username and Password"}},
	{"unauthenticated ", cause{advice: "no credentials; set the client's Username and Password"}},
	{"WRONGPASS ", cause{advice: "the credentials are not valid"}},
	{"NOPERM", cause{advice: denied}},
	{"The user executing the script can't", cause{advice: denied}},
	{"ACL failure in script", cause{advice: denied}}, // Redis 7.2, Valkey
	{"WRONGTYPE ", cause{advice: "the key of the record contains something else; use a Prefix of its own"}},
}

// causeOf classifies an error of go-redis. A refusal would be the same again.
func causeOf(err error) cause {
	var answer redis.Error
	var network net.Error
	switch {
	// The caller gave up, which says nothing about the store.
	case errors.Is(err, context.Canceled):
		return cause{advice: "the caller's context was cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return cause{unavailable: true, advice: "no answer before the deadline; check the way to the server and the time that is left for the call"}
	case errors.As(err, &answer):
		for _, c := range causes {
			if strings.Contains(answer.Error(), c.text) {
				return c.cause
			}
		}
	case errors.Is(err, errNoRecord):
		return cause{advice: "check that no other program writes these keys"}
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return cause{unavailable: true, advice: "all connections are in use; raise the client's PoolSize"}
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return cause{unavailable: true, advice: "the server could not be reached; check the network and the address"}
	}
	return cause{}
}
