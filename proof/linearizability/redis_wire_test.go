package linearizability

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// redisWire is a proxy in front of a Redis server. It drops commands and answers, delays
// commands and doubles them, and cuts connections after sending. It sees every copy, those
// of the client's own retries, too.
type redisWire struct {
	address string // for clients
	server  string
	calm    bool
	fails   [slow + 1]atomic.Int64

	mu     sync.Mutex
	ops    map[string]*op // by the bytes of their command
	open   map[net.Conn]bool
	closed bool
}

func newRedisWire(t *testing.T, server string, faults bool) *redisWire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &redisWire{address: l.Addr().String(), server: server, calm: !faults, ops: make(map[string]*op), open: make(map[net.Conn]bool)}
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
func (w *redisWire) mustHaveFailed(t *testing.T) {
	t.Helper()
	for f := pass; f <= slow; f++ {
		n := w.fails[f].Load()
		t.Logf("commands with the fate %d: %d", f, n)
		if n == 0 {
			t.Errorf("no command had the fate %d", f)
		}
	}
}

// expect notes for which request a command is sent.
func (w *redisWire) expect(args []any, o *op) {
	var command bytes.Buffer
	fmt.Fprintf(&command, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(text), text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops[command.String()] = o
}

func (w *redisWire) opOf(command []byte) *op {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ops[string(command)]
}

// track reports false if the wire is closed, and closes the connection.
func (w *redisWire) track(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		cut(c)
		return false
	}
	w.open[c] = true
	return true
}

func (w *redisWire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.open {
		cut(c)
	}
}

// redisLink is a connection to the server.
type redisLink struct {
	conn net.Conn
	in   *bufio.Reader
}

func (w *redisWire) link() (*redisLink, error) {
	conn, err := net.Dial("tcp", w.server)
	if err != nil {
		return nil, err
	}
	if !w.track(conn) {
		return nil, net.ErrClosed
	}
	return &redisLink{conn, bufio.NewReader(conn)}, nil
}

// send sends one copy of a command, and returns its answer. A server that does not know
// the script has not run it.
func (l *redisLink) send(command []byte, o *op) ([]byte, error) {
	if o != nil {
		o.leaves()
	}
	if _, err := l.conn.Write(command); err != nil {
		return nil, err
	}
	answer, err := reply(l.in)
	if err == nil && o != nil && bytes.HasPrefix(answer, []byte("-NOSCRIPT ")) {
		o.answered()
	}
	return answer, err
}

func (w *redisWire) serve(client net.Conn) {
	if !w.track(client) {
		return
	}
	defer cut(client)
	l, err := w.link()
	if err != nil {
		return
	}
	defer cut(l.conn)
	for in := bufio.NewReader(client); ; {
		command, err := reply(in)
		if err != nil {
			return // its sender is gone
		}
		answer, err := w.carry(l, command)
		if err != nil {
			return
		}
		if _, err := client.Write(answer); err != nil {
			return
		}
	}
}

var errLost = errors.New("the connection is cut")

// carry lets one copy of a command have its fate, and returns the answer. After an error,
// the connection is cut.
func (w *redisWire) carry(l *redisLink, command []byte) ([]byte, error) {
	o := w.opOf(command)
	if o == nil || w.calm {
		return l.send(command, o)
	}
	f, lateArrives := o.history.fates.next()
	if o.history.isCalm() {
		f, lateArrives = pass, false
	}
	if lateArrives {
		o.history.arrive()
	}
	w.fails[f].Add(1)
	// A late copy has a connection of its own: that of its sender is gone.
	late := func() {
		l, err := w.link()
		if err == nil {
			defer cut(l.conn)
			_, err = l.send(command, o)
		}
		if err != nil {
			o.history.problem("a command that was held: %v", err)
		}
	}
	switch f {
	case unsent:
		return nil, errLost
	case lost:
		_, err := l.send(command, o)
		return nil, errors.Join(errLost, err)
	case held:
		o.history.later(late)
		return nil, errLost
	case doubled:
		if _, err := l.send(command, o); err != nil {
			return nil, err
		}
	case followed:
		o.history.later(late)
	case slow:
		time.Sleep(5 * time.Millisecond) // others overtake it
	}
	return l.send(command, o)
}

// reply reads a value of the protocol, version 2. A command is one, too.
func reply(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n := -1
	if line[0] == '$' || line[0] == '*' {
		if n, err = strconv.Atoi(strings.TrimSpace(string(line[1:]))); err != nil {
			return nil, err
		}
	}
	switch {
	case n < 0: // a line, or nothing
		return line, nil
	case line[0] == '$':
		body := make([]byte, n+2)
		_, err := io.ReadFull(in, body)
		return append(line, body...), err
	}
	for range n {
		value, err := reply(in)
		if err != nil {
			return nil, err
		}
		line = append(line, value...)
	}
	return line, nil
}
