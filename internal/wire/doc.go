// Package wire is the network between a client and its server, for tests: proxies that
// count, drop, delay, double and cut requests, or measure them.
//
// A [Proxy] reads whole requests and passes each to a [Carry], which decides on its
// fate. There is a framing for HTTP, for PostgreSQL and for Redis:
//
//	proxy, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), func(r *wire.Request) (*wire.Response, error) {
//		switch {
//		case drops(r):
//			return nil, wire.ErrCut // before the server receives it
//		case losesAnswer(r):
//			_, err := r.Send()
//			return nil, errors.Join(wire.ErrCut, err)
//		case doubles(r):
//			if _, err := r.Send(); err != nil {
//				return nil, err
//			}
//		case throttles(r):
//			return &wire.Response{Status: 400, Body: throttled}, nil
//		}
//		return r.Send()
//	})
//
// A delay is a wait before or after Send. [Request.Late] sends a copy whose sender has
// gone. [Delay] adds the latency of a network and looks at nothing.
package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// ErrCut cuts the client's connection if a [Carry] returns it.
var ErrCut = errors.New("wire: the connection is cut")

// Carry decides on the fate of a request. It is called concurrently, and in order for
// the requests of one connection. If it returns an error, the client's connection is cut
// without a response.
type Carry func(r *Request) (*Response, error)

// A Request is one round trip that a client asks for.
type Request struct {
	// Context ends when the proxy is closed, and with HTTP when the client leaves.
	Context context.Context
	// Client is the address of the client's connection, or nil with HTTP.
	Client net.Addr
	// Operation is the operation of an AWS SDK, such as PutItem; otherwise the method
	// and the path. Of a client that uses the proxy for all hosts, it is the method and
	// the host. With PostgreSQL it is the commands that are sent together, such as
	// "update, commit", or empty for a ping. With Redis it is the command.
	Operation string
	// Header is the header of an HTTP request.
	Header http.Header
	// Body is sent: the body of an HTTP request, or all bytes of a unit of another
	// protocol.
	Body []byte

	send func(body []byte) (*Response, error)
	late func(body []byte) func() (*Response, error)
}

// Send sends one copy to the server, and returns its response. A sender that leaves does
// not cancel it.
func (r *Request) Send() (*Response, error) { return r.send(r.Body) }

// Late returns a function that sends one copy at any later time, when the connection of
// its sender may be gone. It must be called once. With PostgreSQL, the copy needs the
// session of its sender, so Carry must return an error after Late.
func (r *Request) Late() func() (*Response, error) { return r.late(r.Body) }

// A Response is the answer to a request.
type Response struct {
	Body []byte
	// The rest belongs to HTTP. Torn cuts the connection after half of the body.
	Status int
	Header http.Header
	Torn   bool
}
