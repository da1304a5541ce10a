package linearizability

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// fateful counts the fates of requests.
type fateful [slow + 1]atomic.Int64

// mustHaveFailed fails the test if a fate has not occurred.
func (n *fateful) mustHaveFailed(t *testing.T, fates ...fate) {
	t.Helper()
	for _, f := range fates {
		t.Logf("requests with the fate %d: %d", f, n[f].Load())
		check.Differ(t, n[f].Load(), 0, "no request had the fate", f)
	}
}

// carry counts a fate, and lets a request have it. copied sends one copy.
func (n *fateful) carry(f fate, r *wire.Request, o *op, copied func(send func() (*wire.Response, error)) (*wire.Response, error)) (*wire.Response, error) {
	n[f].Add(1)
	return carry(f, func() (*wire.Response, error) { return copied(r.Send) }, func() {
		late := r.Late()
		o.history.later(func() {
			if _, err := copied(late); err != nil {
				o.history.problem("a request that was held: %v", err)
			}
		})
	}, overtaken)
}

// pgWire is a proxy in front of a PostgreSQL server. It loses statements and
// answers, and delays statements: one that is held runs long after its connection
// was cut and its sender has gone. The client says which fate a statement has.
type pgWire struct {
	*wire.Proxy
	fateful

	mu      sync.Mutex
	sending map[string]*pgSending // by the address of the client's connection
}

// pgSending is a statement on its way.
type pgSending struct {
	op   *op
	fate fate
}

func newPgWire(t *testing.T, server string) *pgWire {
	w := &pgWire{sending: make(map[string]*pgSending)}
	w.Proxy = proxied(t, wire.PostgreSQL, server, w.carry)
	return w
}

// expect sets the fate of the next statement of a connection.
func (w *pgWire) expect(client net.Addr, s *pgSending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sending[client.String()] = s
}

func (w *pgWire) expected(client net.Addr) *pgSending {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sending[client.String()]
	delete(w.sending, client.String())
	return s
}

func (w *pgWire) carry(r *wire.Request) (*wire.Response, error) {
	if strings.HasPrefix(r.Operation, "prepare ") {
		return r.Send()
	}
	s := w.expected(r.Client)
	if s == nil {
		return r.Send()
	}
	return w.fateful.carry(s.fate, r, s.op, func(send func() (*wire.Response, error)) (*wire.Response, error) {
		s.op.leaves()
		return send()
	})
}
