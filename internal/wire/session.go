package wire

import (
	"bufio"
	"errors"
	"net"
)

// A framing divides the bytes of a connection into round trips.
type framing interface {
	// begin passes on whatever comes before the first request.
	begin(s *session) error
	// ask reads one request, and names it. After an error without a request, the
	// session ends.
	ask(s *session) (unit []byte, operation string, err error)
	// answer reads the whole answer to a request.
	answer(from *bufio.Reader) ([]byte, error)
	// ownsSession reports whether a late copy needs the session of its sender.
	ownsSession() bool
}

// A MalformedError reports a connection that does not speak the protocol of its proxy.
type MalformedError struct{ Reason string }

func (e *MalformedError) Error() string {
	return "a connection cannot be divided into round trips: " + e.Reason
}

// session is one connection of a client, and the one to the server behind it.
type session struct {
	proxy          *Proxy
	client, server net.Conn
	asks, answers  *bufio.Reader
	framing        framing
	kept           bool // a late copy needs the connection to the server
}

// tcp starts a proxy that has a framing for each connection.
func tcp(target string, carry Carry, framed func() framing) (*Proxy, error) {
	p, err := listen()
	if err != nil {
		return nil, err
	}
	p.accept(target, func(client, server net.Conn) (keep bool) {
		s := &session{proxy: p, client: client, server: server, asks: bufio.NewReader(client), answers: bufio.NewReader(server), framing: framed()}
		err := s.framing.begin(s)
		for err == nil {
			err = s.next(target, carry)
		}
		// Client and server see for themselves that the connection has ended.
		if malformed, ok := errors.AsType[*MalformedError](err); ok {
			p.failed(malformed)
		}
		return s.kept
	})
	return p, nil
}

// next carries one request.
func (s *session) next(target string, carry Carry) error {
	unit, operation, err := s.framing.ask(s)
	if err != nil {
		return err
	}
	res, err := carry(&Request{
		Context: s.proxy.ctx, Client: s.client.RemoteAddr(), Operation: operation, Body: unit,
		send: s.send,
		late: func(body []byte) func() (*Response, error) { return s.late(target, body) },
	})
	if err != nil {
		return err
	}
	_, err = s.client.Write(res.Body)
	return err
}

func (s *session) send(unit []byte) (*Response, error) {
	if _, err := s.server.Write(unit); err != nil {
		return nil, err
	}
	body, err := s.framing.answer(s.answers)
	return &Response{Body: body}, err
}

func (s *session) late(target string, unit []byte) func() (*Response, error) {
	own := s.framing.ownsSession()
	s.kept = own
	return func() (*Response, error) {
		if own {
			defer s.proxy.drop(s.server)
			return s.send(unit)
		}
		server, err := s.proxy.dial(target)
		if err != nil {
			return nil, err
		}
		defer s.proxy.drop(server)
		fresh := &session{proxy: s.proxy, server: server, answers: bufio.NewReader(server), framing: s.framing}
		return fresh.send(unit)
	}
}
