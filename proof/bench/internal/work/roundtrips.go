package work

import (
	"context"
	"net"
	"sync/atomic"
)

// dial opens a connection whose round trips count.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{TCPConn: conn.(*net.TCPConn), trips: &c.sent}, nil
}

// counted counts round trips: writes that follow an answer. It has all methods of a
// TCP connection, because go-redis looks at the socket of an idle one.
type counted struct {
	*net.TCPConn
	trips    *atomic.Int64
	answered atomic.Bool // the last call was a Read that had bytes
}

// Read implements net.Conn.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (c *counted) Write(b []byte) (int, error) {
	if c.answered.Swap(false) {
		c.trips.Add(1)
	}
	return c.TCPConn.Write(b)
}
