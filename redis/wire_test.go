package redis

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// counter counts the requests of a client that have a script. It also sees the requests
// that the client repeats by itself.
type counter struct{ sent atomic.Int64 }

func (w *counter) carry(r *wire.Request) (*wire.Response, error) {
	if bytes.Contains(r.Body, []byte("\r\nevalsha\r\n")) || bytes.Contains(r.Body, []byte("\r\neval\r\n")) {
		w.sent.Add(1)
	}
	return r.Send()
}

// behind returns a client of the same server behind w.
func behind(t *testing.T, client *redis.Client, w *counter) *redis.Client {
	t.Helper()
	p, err := wire.Redis(client.Options().Addr, w.carry)
	check.Must(t, err)
	c := redis.NewClient(&redis.Options{Addr: p.Addr(), Protocol: 2, MinRetryBackoff: -1, MaxRetryBackoff: -1})
	t.Cleanup(func() {
		check.Nil(t, errors.Join(c.Close(), p.Close()))
	})
	return c
}
