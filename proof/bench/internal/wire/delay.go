// Package wire stands between clients and servers: it delays what clients send, or
// meters it.
package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A Delay is a proxy that delivers whatever a client sends some time later. A
// round trip takes that much longer. Throughput is not limited: bytes that are
// sent together are delivered together.
type Delay struct {
	listener net.Listener
	target   string
	by       time.Duration
	serving  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool // nil: closed
}

// NewDelay starts a proxy in front of target, which is a host and port.
func NewDelay(target string, by time.Duration) (*Delay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Delay{listener: listener, target: target, by: by, open: map[net.Conn]bool{}}
	d.serving.Go(d.accept)
	return d, nil
}

// Addr returns the host and port of the proxy.
func (d *Delay) Addr() string { return d.listener.Addr().String() }

// Close cuts all connections, and waits until they have ended.
func (d *Delay) Close() error {
	err := d.listener.Close()
	d.mu.Lock()
	for c := range d.open {
		if e := c.Close(); !errors.Is(e, net.ErrClosed) { // by its other side
			err = errors.Join(err, e)
		}
	}
	d.open = nil
	d.mu.Unlock()
	d.serving.Wait()
	return err
}

func (d *Delay) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", d.target)
		if err != nil || !d.keep(client, server) {
			// The client sees its connection end, which is an error of its call.
			_ = client.Close()
			continue
		}
		d.serving.Go(func() { d.carry(client, server) })
	}
}

// keep notes connections for Close, and reports whether there is still time.
func (d *Delay) keep(connections ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range connections {
		if d.open == nil {
			_ = c.Close()
			continue
		}
		d.open[c] = true
	}
	return d.open != nil
}

// carry returns when both directions have ended.
func (d *Delay) carry(client, server net.Conn) {
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // the end of either connection ends the other
		_ = client.Close()
	})
	d.forward(server, client)
	_ = server.Close()
	back.Wait()
	d.mu.Lock()
	delete(d.open, client)
	delete(d.open, server)
	d.mu.Unlock()
}

// parcel is what a client has sent, and when the server is to receive it.
type parcel struct {
	bytes []byte
	due   time.Time
}

// forward reads on while earlier parcels wait.
func (d *Delay) forward(server io.Writer, client io.Reader) {
	parcels := make(chan parcel, 1024)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range parcels {
			time.Sleep(time.Until(p.due))
			if _, err := server.Write(p.bytes); err != nil {
				break
			}
		}
		for range parcels { // of a connection that has ended
		}
	})
	defer writing.Wait()
	defer close(parcels)
	for {
		buffer := make([]byte, 16<<10)
		n, err := client.Read(buffer)
		if n > 0 {
			parcels <- parcel{buffer[:n], time.Now().Add(d.by)}
		}
		if err != nil {
			return
		}
	}
}
