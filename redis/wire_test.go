package redis

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// wire counts what a client sends, and loses answers. It sees what the client does by
// itself, too.
type wire struct {
	mu    sync.Mutex
	sent  int // requests with a script
	loses int // answers to scripts that are still to be lost
}

// dial is the Dialer of a client behind the wire.
func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, wire: w}, nil
}

// wireConn is one connection. A client writes one request at a time on it.
type wireConn struct {
	net.Conn
	wire *wire
	lost bool
}

func (c *wireConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nevalsha\r\n")) || bytes.Contains(p, []byte("\r\neval\r\n")) {
		c.wire.mu.Lock()
		c.wire.sent++
		if c.wire.loses > 0 {
			c.wire.loses--
			c.lost = true
		}
		c.wire.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// Read waits for the answer that it loses: the script has run.
func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost && err == nil {
		return 0, errors.Join(io.EOF, c.Close())
	}
	return n, err
}

func (w *wire) lose(answers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loses = answers
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// behind returns a client of the same server behind a wire.
func behind(t *testing.T, client *redis.Client, w *wire) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: client.Options().Addr, Dialer: w.dial, MinRetryBackoff: -1, MaxRetryBackoff: -1})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
