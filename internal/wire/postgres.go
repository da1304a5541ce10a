package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"strings"
)

// PostgreSQL starts a proxy in front of a PostgreSQL server, which is a host and port. A
// request is all messages up to a Sync, or a simple Query: the server answers them as a
// whole, in one round trip. The beginning of a connection is no request. The server must
// ask for no password, and clients must not encrypt their connections, nor use COPY.
func PostgreSQL(target string, carry Carry) (*Proxy, error) {
	return tcp(target, carry, func() framing { return &pgFraming{prepared: map[string]string{}} })
}

type pgFraming struct {
	prepared map[string]string // the texts of statements, by their names
}

func (*pgFraming) ownsSession() bool { return true }

// message is a message with its type, which the first one of a connection has not.
type message struct {
	kind byte
	raw  []byte
	body []byte
}

func readMessage(from *bufio.Reader, typed bool) (m message, err error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return m, err
	}
	length := int(binary.BigEndian.Uint32(head[len(head)-4:]))
	if length < 4 || length > 1<<30 {
		return m, &MalformedError{"it does not speak the protocol; set sslmode=disable"}
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
func (f *pgFraming) begin(s *session) error {
	first, err := readMessage(s.asks, false)
	if err != nil {
		return err
	}
	if len(first.body) < 4 {
		return &MalformedError{"it does not begin a session"}
	}
	const cancels, encrypts, encryptsGSS = 80877102, 80877103, 80877104
	switch binary.BigEndian.Uint32(first.body) {
	case encrypts, encryptsGSS:
		return &MalformedError{"the client asks for encryption; set sslmode=disable"}
	case cancels:
		_, err := s.server.Write(first.raw)
		return errors.Join(err, io.EOF)
	}
	if _, err := s.server.Write(first.raw); err != nil {
		return err
	}
	for {
		m, err := readMessage(s.answers, true)
		if err != nil {
			return err
		}
		if _, err := s.client.Write(m.raw); err != nil {
			return err
		}
		const ok = 0
		switch {
		case m.kind == 'Z':
			return nil
		case m.kind == 'R' && binary.BigEndian.Uint32(m.body) != ok:
			return &MalformedError{"the server asks for a password"}
		}
	}
}

// ask reads one round trip, and names it after its statements. A ping has no name.
func (f *pgFraming) ask(s *session) (unit []byte, operation string, err error) {
	var names, parsed []string
	portals := map[string]string{}
	for {
		m, err := readMessage(s.asks, true)
		if err != nil {
			return nil, "", err
		}
		unit = append(unit, m.raw...)
		text := strings.Split(string(m.body), "\x00")
		switch m.kind {
		case 'P': // Parse: name, text
			f.prepared[text[0]] = text[1]
			parsed = append(parsed, statementName(text[1]))
		case 'B': // Bind: portal, statement
			portals[text[0]] = f.prepared[text[1]]
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
			return nil, "", &MalformedError{"COPY and Flush are not supported"}
		case 'X':
			_, err := s.server.Write(unit)
			return nil, "", errors.Join(err, io.EOF)
		}
	}
}

// answer reads the whole answer to a round trip.
func (f *pgFraming) answer(from *bufio.Reader) ([]byte, error) {
	var all bytes.Buffer
	for {
		m, err := readMessage(from, true)
		if err != nil {
			return nil, err
		}
		all.Write(m.raw)
		switch m.kind {
		case 'Z':
			return all.Bytes(), nil
		case 'G', 'W':
			return nil, &MalformedError{"COPY is not supported"}
		}
	}
}

var (
	comment  = regexp.MustCompile(`--[^\n]*`)
	leading  = regexp.MustCompile(`^[A-Za-z]+`)
	modifies = regexp.MustCompile(`(?i)\b(INSERT|UPDATE|DELETE)\b`)
)

// statementName returns the command of a statement in lower case. For a WITH, it is the
// first one in it that writes, or select.
func statementName(sql string) string {
	sql = strings.TrimSpace(comment.ReplaceAllString(sql, ""))
	name := strings.ToLower(leading.FindString(sql))
	if name == "with" {
		name = cmp.Or(strings.ToLower(modifies.FindString(sql)), "select")
	}
	return name
}
