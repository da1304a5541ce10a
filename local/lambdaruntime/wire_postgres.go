package lambdaruntime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// toPostgres adds a PostgreSQL server. A call of the function is all messages up to a
// Sync, or a simple Query: the server answers them as a whole, in one round trip. The
// beginning of a connection and the pings of a pool are no calls.
func (w *Wire) toPostgres(server string, target *url.URL) (string, error) {
	address := target.Host
	if target.Port() == "" {
		address = net.JoinHostPort(target.Hostname(), "5432")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("lambdaruntime: %w", err)
	}
	context.AfterFunc(w.ctx, func() { w.closing(server, listener) })
	w.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					w.failed(server, err)
				}
				return
			}
			w.serving.Go(func() { w.session(server, conn, address) })
		}
	})
	to := *target
	to.Host = listener.Addr().String()
	return to.String(), nil
}

func (w *Wire) closing(server string, c io.Closer) {
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		w.failed(server, err)
	}
}

// session is one connection of a function.
func (w *Wire) session(server string, function net.Conn, address string) {
	defer w.closing(server, function)
	backend, err := (&net.Dialer{}).DialContext(w.ctx, "tcp", address)
	if err != nil {
		w.failed(server, err)
		return
	}
	defer w.closing(server, backend)
	defer context.AfterFunc(w.ctx, func() { w.closing(server, function); w.closing(server, backend) })()
	s := &pgSession{
		wire: w, server: server, function: function, backend: backend,
		asks: bufio.NewReader(function), answers: bufio.NewReader(backend), prepared: map[string]string{},
	}
	if err = s.begin(); err == nil {
		err = s.serve()
	}
	// The function or the server is gone, which each of them sees for itself.
	var malformed *pgMalformedError
	if errors.As(err, &malformed) {
		w.failed(server, err)
	}
}

type pgSession struct {
	wire              *Wire
	server            string
	function, backend net.Conn
	asks, answers     *bufio.Reader
	prepared          map[string]string // the texts of statements, by their names
}

type pgMalformedError struct{ what string }

func (e *pgMalformedError) Error() string {
	return "a connection to PostgreSQL cannot be counted: " + e.what
}

// pgMessage is a message with its type, which the first one of a connection has not.
type pgMessage struct {
	kind byte
	raw  []byte
	body []byte
}

func readPG(from *bufio.Reader, typed bool) (m pgMessage, err error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return m, err
	}
	length := int(binary.BigEndian.Uint32(head[len(head)-4:]))
	if length < 4 || length > 1<<30 {
		return m, &pgMalformedError{"it does not speak the protocol; set sslmode=disable"}
	}
	m.raw = append(head, make([]byte, length-4)...)
	m.body = m.raw[len(head):]
	if typed {
		m.kind = head[0]
	}
	_, err = io.ReadFull(from, m.body)
	return m, err
}

// begin passes the beginning of a connection on, up to the first ReadyForQuery.
func (s *pgSession) begin() error {
	first, err := readPG(s.asks, false)
	if err != nil {
		return err
	}
	const cancels, encrypts, encryptsGSS = 80877102, 80877103, 80877104
	switch binary.BigEndian.Uint32(first.body) {
	case encrypts, encryptsGSS:
		return &pgMalformedError{"the function asks for encryption; set sslmode=disable"}
	case cancels:
		_, err := s.backend.Write(first.raw)
		return errors.Join(err, io.EOF)
	}
	if _, err := s.backend.Write(first.raw); err != nil {
		return err
	}
	for {
		m, err := readPG(s.answers, true)
		if err != nil {
			return err
		}
		if _, err := s.function.Write(m.raw); err != nil {
			return err
		}
		const ok = 0
		switch {
		case m.kind == 'Z':
			return nil
		case m.kind == 'R' && binary.BigEndian.Uint32(m.body) != ok:
			return &pgMalformedError{"the server asks for a password"}
		}
	}
}

// serve passes calls on, one after the other.
func (s *pgSession) serve() error {
	for {
		unit, operation, err := s.ask()
		if err != nil {
			return err
		}
		var call Call
		var point Point
		if operation != "" {
			call, point = s.wire.arrives(s.server, operation)
		}
		if point == Before {
			s.wire.kill(call)
			return io.EOF
		}
		if _, err := s.backend.Write(unit); err != nil {
			return err
		}
		answer, err := s.answer()
		if err != nil {
			return err
		}
		if point == After {
			s.wire.kill(call)
			return io.EOF
		}
		if _, err := s.function.Write(answer); err != nil {
			return err
		}
	}
}

// ask reads one call, and names it after its statements. A ping has no name.
func (s *pgSession) ask() (unit []byte, operation string, err error) {
	var names, parsed []string
	portals := map[string]string{}
	for {
		m, err := readPG(s.asks, true)
		if err != nil {
			return nil, "", err
		}
		unit = append(unit, m.raw...)
		text := strings.Split(string(m.body), "\x00")
		switch m.kind {
		case 'P': // Parse: name, text
			s.prepared[text[0]] = text[1]
			parsed = append(parsed, statementName(text[1]))
		case 'B': // Bind: portal, statement
			portals[text[0]] = s.prepared[text[1]]
		case 'E': // Execute: portal
			names = append(names, statementName(portals[text[0]]))
		case 'Q':
			return unit, statementName(text[0]), nil
		case 'S':
			if len(names) == 0 {
				return unit, "prepare " + strings.Join(parsed, ", "), nil
			}
			return unit, strings.Join(names, ", "), nil
		case 'd', 'c', 'f', 'H':
			return nil, "", &pgMalformedError{"COPY and Flush are not supported"}
		case 'X':
			_, err := s.backend.Write(unit)
			return nil, "", errors.Join(err, io.EOF)
		}
	}
}

// answer reads the whole answer to a call.
func (s *pgSession) answer() ([]byte, error) {
	var all bytes.Buffer
	for {
		m, err := readPG(s.answers, true)
		if err != nil {
			return nil, err
		}
		all.Write(m.raw)
		switch m.kind {
		case 'Z':
			return all.Bytes(), nil
		case 'G', 'W':
			return nil, &pgMalformedError{"COPY is not supported"}
		}
	}
}

var (
	comment  = regexp.MustCompile(`--[^\n]*`)
	leading  = regexp.MustCompile(`^[A-Za-z]+`)
	modifies = regexp.MustCompile(`(?i)\b(INSERT|UPDATE|DELETE|SELECT)\b`)
)

// statementName returns the command of a statement in lower case, and of a WITH the first
// one in it.
func statementName(sql string) string {
	sql = strings.TrimSpace(comment.ReplaceAllString(sql, ""))
	name := strings.ToLower(leading.FindString(sql))
	if name == "with" {
		name = strings.ToLower(modifies.FindString(sql))
	}
	return name
}
