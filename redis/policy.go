package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

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
