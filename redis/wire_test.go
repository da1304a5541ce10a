package redis

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// counter counts the requests of a client that have a script. It also sees the requests
// that the client repeats by itself.
type counter struct {
	mu   sync.Mutex
	sent int
}

func (w *counter) carry(r *wire.Request) (*wire.Response, error) {
	if bytes.Contains(r.Body, []byte("\r\nevalsha\r\n")) || bytes.Contains(r.Body, []byte("\r\neval\r\n")) {
		w.mu.Lock()
		w.sent++
		w.mu.Unlock()
	}
	return r.Send()
}

func (w *counter) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
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
