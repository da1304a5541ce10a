package wire

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Redis starts a proxy in front of a Redis server, which is a host and port. Clients
// speak version 2 of the protocol, and each command is a request.
func Redis(target string, carry Carry) (*Proxy, error) {
	return tcp(target, carry, func() framing { return resp{} })
}

type resp struct{}

func (resp) begin(*session) error { return nil }

func (resp) ask(s *session) ([]byte, string, error) {
	unit, err := respValue(s.asks)
	return unit, command(unit), err
}

// command returns the name of a command: the first string of its array.
func command(unit []byte) string {
	parts := strings.SplitN(string(unit), "\r\n", 4)
	return strings.ToLower(parts[min(2, len(parts)-1)])
}

func (resp) answer(from *bufio.Reader) ([]byte, error) { return respValue(from) }

func (resp) ownsSession() bool { return false }

// respValue reads a value of the protocol. A command is one.
func respValue(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n := -1
	if line[0] == '$' || line[0] == '*' {
		if n, err = strconv.Atoi(strings.TrimSpace(string(line[1:]))); err != nil {
			return nil, &MalformedError{"it does not speak the protocol of Redis"}
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
		value, err := respValue(in)
		if err != nil {
			return nil, err
		}
		line = append(line, value...)
	}
	return line, nil
}
