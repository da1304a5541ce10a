package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A wire is what connects a pool to its server. It counts round trips and can lose
// the message that contains a COMMIT, or another text, or its answer.
type wire struct {
	trips atomic.Int32

	mu   sync.Mutex
	lose string      // "request", "answer" or "late"; once
	of   string      // the text in the message that is lost
	late chan func() // delivers a request that is late
}

// through makes a pool use the wire. Statements are sent as text, so that the wire
// recognizes them.
func (w *wire) through(c *pgxpool.Config) {
	w.late = make(chan func(), 1)
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	dial := (&net.Dialer{}).DialContext
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &wired{Conn: conn, wire: w}, nil
	}
}

func (w *wire) losing(what string) { w.losingOf(what, "commit\x00") }

func (w *wire) losingOf(what, of string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose, w.of = what, of
}

// taken returns what is to be lost of a message.
func (w *wire) taken(message []byte) (what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose == "" || !bytes.Contains(message, []byte(w.of)) {
		return ""
	}
	what, w.lose = w.lose, ""
	return what
}

type wired struct {
	net.Conn
	wire *wire

	mu      sync.Mutex
	reading bool // since the last write
	deaf    bool // answers are lost
	kept    bool // open after Close, for a late request
}

var errCut = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("the test has cut the connection")}

func (c *wired) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.reading {
		c.wire.trips.Add(1)
	}
	c.reading = false
	kept := c.kept
	c.mu.Unlock()
	if kept { // pgx ends its session, which the server must not see before the request
		return len(b), nil
	}
	switch c.wire.taken(b) {
	case "request":
		return 0, errors.Join(errCut, c.Conn.Close())
	case "answer":
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
	case "late":
		b := bytes.Clone(b)
		c.mu.Lock()
		c.deaf, c.kept = true, true
		c.mu.Unlock()
		c.wire.late <- func() {
			// pgx has ended the connection with a deadline.
			_ = c.Conn.SetDeadline(time.Time{})
			// The server closes after the end of the input, when it has answered.
			if _, err := c.Conn.Write(b); err == nil && c.Conn.(*net.TCPConn).CloseWrite() == nil {
				_, _ = io.Copy(io.Discard, c.Conn)
			}
			_ = c.Conn.Close()
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *wired) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = true
	if n > 0 && c.deaf {
		return 0, errors.Join(errCut, c.Conn.Close())
	}
	return n, err
}

func (c *wired) Close() error {
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept {
		return nil
	}
	return c.Conn.Close()
}

// count returns the round trips of fn.
func (w *wire) count(t *testing.T, fn func()) int {
	t.Helper()
	before := w.trips.Load()
	fn()
	return int(w.trips.Load() - before)
}
