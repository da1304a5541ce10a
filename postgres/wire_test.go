package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// A network connects pools to their server. It counts round trips and can lose the one of
// a COMMIT or of a chosen text.
type network struct {
	t     *testing.T
	trips atomic.Int32
	gone  atomic.Bool // the client: nothing that it sends arrives any more, not even a FIN

	mu   sync.Mutex
	lose string      // "request", "answer", "late" or "silent"; once
	of   string      // the text in the request that is lost
	late chan func() // delivers a request that is late
}

func newNetwork(t *testing.T) *network { return &network{t: t, late: make(chan func(), 1)} }

// through makes a pool use the network. Statements are sent as text, so that the network
// recognizes them.
func (n *network) through(c *pgxpool.Config) {
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	n.prepared(c)
}

// prepared makes a pool use the network, with prepared statements.
func (n *network) prepared(c *pgxpool.Config) {
	server := net.JoinHostPort(c.ConnConfig.Host, strconv.Itoa(int(c.ConnConfig.Port)))
	proxy, err := wire.PostgreSQL(server, n.carry)
	check.Must(n.t, err)
	n.t.Cleanup(func() { check.Nil(n.t, proxy.Close()) })
	c.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
	}
}

func (n *network) losing(what string) { n.losingOf(what, "commit\x00") }

func (n *network) losingOf(what, of string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose, n.of = what, of
}

// taken returns which part of a request is to be lost.
func (n *network) taken(request []byte) (what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lose == "" || !bytes.Contains(request, []byte(n.of)) {
		return ""
	}
	what, n.lose = n.lose, ""
	return what
}

func (n *network) carry(r *wire.Request) (*wire.Response, error) {
	if r.Operation != "" { // not a ping
		n.trips.Add(1)
	}
	lost := n.taken(r.Body)
	switch {
	case n.gone.Load():
		_ = r.Late() // never sent; the server's session stays
	case lost == "late":
		deliver := r.Late()
		n.late <- func() { _, _ = deliver() } // a commit that is refused is an answer
	case lost == "silent":
		<-r.Context.Done()
	case lost == "answer":
		_, err := r.Send()
		return nil, errors.Join(wire.ErrCut, err)
	case lost == "":
		return r.Send()
	}
	return nil, wire.ErrCut
}

// count returns the round trips of fn.
func (n *network) count(fn func()) int {
	before := n.trips.Load()
	fn()
	return int(n.trips.Load() - before)
}
