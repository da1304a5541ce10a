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

// lossy counts the requests of a client, and loses answers. It also sees the requests
// that the client repeats by itself.
type lossy struct {
	mu    sync.Mutex
	sent  int // requests with a script
	loses int // answers to scripts that are still to be lost
}

// carry loses the answer to a script after it has run.
func (w *lossy) carry(r *wire.Request) (*wire.Response, error) {
	if !bytes.Contains(r.Body, []byte("\r\nevalsha\r\n")) && !bytes.Contains(r.Body, []byte("\r\neval\r\n")) {
		return r.Send()
	}
	w.mu.Lock()
	w.sent++
	lost := w.loses > 0
	if lost {
		w.loses--
	}
	w.mu.Unlock()
	res, err := r.Send()
	if lost {
		return nil, errors.Join(wire.ErrCut, err)
	}
	return res, err
}

func (w *lossy) lose(answers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loses = answers
}

func (w *lossy) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// behind returns a client of the same server behind w.
func behind(t *testing.T, client *redis.Client, w *lossy) *redis.Client {
	t.Helper()
	p, err := wire.Redis(client.Options().Addr, w.carry)
	check.Must(t, err)
	c := redis.NewClient(&redis.Options{Addr: p.Addr(), Protocol: 2, MinRetryBackoff: -1, MaxRetryBackoff: -1})
	t.Cleanup(func() {
		check.Nil(t, errors.Join(c.Close(), p.Close()))
	})
	return c
}
