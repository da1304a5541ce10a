package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// endsAtDeadlines reports whether the client ends each of its waits at the deadline of the
// context, and at its own timeouts otherwise. go-redis leaves its wait for a connection
// whenever the context ends. It reads an answer until the deadline only with
// ContextTimeoutEnabled, and without its own timeouts for ever. The client of a cluster also
// waits for a list of commands, five seconds and one call after the other.
func endsAtDeadlines(client Client) bool {
	c, ok := client.(*redis.Client)
	if !ok {
		return false
	}
	o := c.Options()
	return o.ContextTimeoutEnabled && o.ReadTimeout > 0 && o.WriteTimeout > 0
}

// call sends a script, and returns when its answer is there or the context ends.
//
// A client that ends at deadlines notices a cancellation at its ReadTimeout at the latest.
// Only the extension of a lease may not wait so long: the end of the handler cancels it, and
// must record the result in the time that is left. A goroutine outlives the call by the
// client's timeouts at most; the fence covers a write that it still sends.
func (s *Store) call(ctx context.Context, sc *script, key string, args []any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ctx.Done() == nil || s.endsAtDeadlines && sc != s.scripts.extend {
		v, err := s.deliver(ctx, sc, key, args)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err() // a read that was cancelled fails as one of a silent server
		}
		return v, err
	}
	type result struct {
		value any
		err   error
	}
	answered := make(chan result, 1)
	go func() {
		grow(0)
		v, err := s.deliver(ctx, sc, key, args)
		answered <- result{v, err}
	}()
	select {
	case r := <-answered:
		return r.value, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// grow makes the stack of a goroutine as large as go-redis needs it. Otherwise it grows in
// several steps in the middle of go-redis, and each moves all frames, which takes an eighth
// of the CPU time of a call.
//
//go:noinline
func grow(n int) byte {
	var room [7 << 10]byte
	return room[n]
}

// deliver sends a script. To one that claims, it adds the note of the last answer of the
// same server, and keeps the note that comes back. Whether the server is the same is up to
// the script: a connection does not show a failover behind it.
func (s *Store) deliver(ctx context.Context, sc *script, key string, args []any) (any, error) {
	if !sc.claims {
		return s.send(ctx, sc, key, args)
	}
	place := s.place(ctx, key)
	note, _ := s.notes.LoadOrStore(place, "")
	v, err := s.send(ctx, sc, key, append(args, note))
	switch answer := v.(type) {
	case string: // of a claim
		s.notes.Store(place, answer)
	case []any:
		if len(answer) == 3 { // of a takeover
			s.notes.Store(place, answer[2])
		}
	}
	return v, err
}

// place returns the address of the primary that stores the key, as far as a cluster's client
// knows. Without a cluster there is one place.
func (s *Store) place(ctx context.Context, key string) string {
	if c, ok := s.client.(*redis.ClusterClient); ok {
		if node, err := c.MasterForKey(ctx, key); err == nil {
			return node.Options().Addr
		}
	}
	return ""
}
