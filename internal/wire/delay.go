package wire

import (
	"io"
	"net"
	"sync"
	"time"
)

// Delay starts a proxy that delivers everything a client sends some time later. A round
// trip takes that much longer. Throughput is not limited: bytes that are sent together
// are delivered together. The target is a host and port.
func Delay(target string, by time.Duration) (*Proxy, error) {
	p, err := listen()
	if err != nil {
		return nil, err
	}
	p.accept(target, func(client, server net.Conn) (keep bool) {
		delay(client, server, by)
		return false
	})
	return p, nil
}

// delay returns when both directions have ended.
func delay(client, server net.Conn, by time.Duration) {
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // the end of either connection ends the other
		_ = client.Close()
	})
	forward(server, client, by)
	_ = server.Close()
	back.Wait()
}

// A parcel is data that a client has sent, with the time at which the server is to receive it.
type parcel struct {
	bytes []byte
	due   time.Time
}

// forward reads on while earlier parcels wait.
func forward(server io.Writer, client io.Reader, by time.Duration) {
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
			parcels <- parcel{buffer[:n], time.Now().Add(by)}
		}
		if err != nil {
			return
		}
	}
}
