package linearizability

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pgWire is a proxy in front of a PostgreSQL server. It loses statements and
// answers, and delays statements: one that is held runs long after its connection
// was cut and its sender has gone. The client says which fate a statement has.
type pgWire struct {
	address string // for clients
	server  string
	fails   [slow + 1]atomic.Int64

	mu      sync.Mutex
	sending map[string]*pgSending // by the address of the client's connection
	open    map[net.Conn]bool
	closed  bool
}

// pgSending is a statement on its way.
type pgSending struct {
	op   *op
	fate fate
}

func newPgWire(t *testing.T, server string) *pgWire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &pgWire{address: l.Addr().String(), server: server, sending: make(map[string]*pgSending), open: make(map[net.Conn]bool)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() { w.serve(client) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		w.close()
		serving.Wait()
	})
	return w
}

// mustHaveFailed fails the test if a fate has not occurred.
func (w *pgWire) mustHaveFailed(t *testing.T) {
	t.Helper()
	t.Logf("statements: %d passed, %d unsent, %d answers lost, %d held, %d slow",
		w.fails[pass].Load(), w.fails[unsent].Load(), w.fails[lost].Load(), w.fails[held].Load(), w.fails[slow].Load())
	for _, f := range []fate{pass, unsent, lost, held, slow} {
		if w.fails[f].Load() == 0 {
			t.Errorf("no statement had the fate %d", f)
		}
	}
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

// track reports false if the wire is closed, and closes the connection.
func (w *pgWire) track(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		cut(c)
		return false
	}
	w.open[c] = true
	return true
}

func (w *pgWire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.open {
		cut(c)
	}
}

// cut closes a connection. Its peer may have done so before.
func cut(c net.Conn) {
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		panic(err)
	}
}

// pgLink is one connection of a client, and the one to the server behind it.
type pgLink struct {
	wire           *pgWire
	client, server net.Conn
	silent         atomic.Bool   // answers are lost
	ready          chan struct{} // the server has answered everything
}

func (w *pgWire) serve(client net.Conn) {
	if !w.track(client) {
		return
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil || !w.track(server) {
		cut(client)
		return
	}
	l := &pgLink{wire: w, client: client, server: server, ready: make(chan struct{}, 1)}
	var answers sync.WaitGroup
	answers.Go(l.answer)
	if kept := l.request(); !kept {
		cut(server)
	}
	cut(client)
	answers.Wait()
}

// request forwards what the client sends. It reports whether a statement is left
// that the server will get later.
func (l *pgLink) request() (kept bool) {
	startup, err := pgMessage(l.client, 0)
	if err != nil {
		return false
	}
	if _, err := l.server.Write(startup); err != nil {
		return false
	}
	var burst []byte
	executes := false
	for {
		m, err := pgMessage(l.client, 1)
		if err != nil {
			return false
		}
		burst = append(burst, m...)
		switch m[0] {
		case 'E':
			executes = true
			continue
		case 'S', 'Q', 'X', 'p': // the client waits for an answer, or leaves
		default:
			continue
		}
		s := &pgSending{}
		if executes {
			if expected := l.wire.expected(l.client.RemoteAddr()); expected != nil {
				s = expected
			}
		}
		if goesOn, kept := l.forward(burst, s); !goesOn {
			return kept
		}
		burst, executes = nil, false
	}
}

// forward lets a burst of messages have its fate.
func (l *pgLink) forward(burst []byte, s *pgSending) (goesOn, kept bool) {
	if s.op != nil {
		l.wire.fails[s.fate].Add(1)
	}
	select {
	case <-l.ready: // of the messages before
	default:
	}
	deliver := func() error {
		if s.op != nil {
			s.op.leaves()
		}
		_, err := l.server.Write(burst)
		return err
	}
	switch s.fate {
	case unsent:
		return false, false
	case lost:
		l.silent.Store(true)
		if deliver() == nil {
			<-l.ready
		}
		return false, false
	case held:
		l.silent.Store(true)
		s.op.history.later(func() {
			if err := deliver(); err != nil {
				s.op.history.problem("a statement that was held: %v", err)
				return
			}
			<-l.ready
			cut(l.server)
		})
		return false, true
	case slow:
		time.Sleep(5 * time.Millisecond) // others overtake it
	}
	return deliver() == nil, false
}

// answer forwards what the server sends, until its connection is closed.
func (l *pgLink) answer() {
	defer close(l.ready)
	for {
		m, err := pgMessage(l.server, 1)
		if err != nil {
			cut(l.client)
			return
		}
		if !l.silent.Load() {
			if _, err := l.client.Write(m); err != nil {
				l.silent.Store(true) // the client is gone
			}
		}
		if m[0] == 'Z' {
			select {
			case l.ready <- struct{}{}:
			default:
			}
		}
	}
}

// pgMessage reads a message of the protocol: a type, except at the start, a length
// that counts itself, and a body.
func pgMessage(from io.Reader, typ int) ([]byte, error) {
	head := make([]byte, typ+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[typ:])) - 4
	if length < 0 || length > 1<<30 {
		return nil, errors.New("no message of PostgreSQL")
	}
	m := append(head, make([]byte, length)...)
	_, err := io.ReadFull(from, m[typ+4:])
	return m, err
}
