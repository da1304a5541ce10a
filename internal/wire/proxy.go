package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// A Proxy stands between clients and a server, on a random port of the loopback
// interface, until it is closed.
type Proxy struct {
	listener net.Listener
	serving  sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
	end      func() error // of the listener

	mu   sync.Mutex
	errs []error
}

func listen() (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	p := &Proxy{listener: l, end: l.Close}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Addr returns the host and port for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns the URL for clients of HTTP.
func (p *Proxy) URL() string { return "http://" + p.Addr() }

// Close cuts all connections and waits for every Carry. It returns the failures of the
// server and of the protocol, not those of the clients.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.end()
	p.serving.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(append(p.errs, err)...)
}

// failed keeps an error for Close, unless Close is the reason.
func (p *Proxy) failed(err error) {
	if p.ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, fmt.Errorf("wire: %w", err))
}

// accept serves connections, each with a connection to the target.
func (p *Proxy) accept(target string, serve func(client, server net.Conn) (keep bool)) {
	p.serving.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					p.failed(err)
				}
				return
			}
			p.serving.Go(func() {
				client := p.own(client)
				defer p.drop(client)
				server, err := p.dial(target)
				if err != nil {
					p.failed(err)
					return
				}
				if keep := serve(client, server); !keep {
					p.drop(server)
				}
			})
		}
	})
}

func (p *Proxy) dial(target string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	return p.own(c), nil
}

// An owned connection ends with the proxy.
type owned struct {
	net.Conn
	disown func() bool
}

func (p *Proxy) own(c net.Conn) net.Conn {
	return owned{c, context.AfterFunc(p.ctx, func() { p.drop(c) })}
}

func (c owned) Close() error {
	c.disown()
	return c.Conn.Close()
}

// drop closes a connection. Its peer or the proxy may have done so before.
func (p *Proxy) drop(c net.Conn) {
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		p.failed(err)
	}
}
