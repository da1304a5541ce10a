package linearizability

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/wire"
)

// redisWire is a proxy in front of a Redis server. It drops commands and answers, delays
// commands and doubles them, and cuts connections after sending. It sees every copy, those
// of the client's own retries, too.
type redisWire struct {
	*wire.Proxy
	fateful
	calm bool

	mu  sync.Mutex
	ops map[string]*op // by the bytes of their command
}

func newRedisWire(t *testing.T, server string, faults bool) *redisWire {
	w := &redisWire{calm: !faults, ops: make(map[string]*op)}
	w.Proxy = proxied(t, wire.Redis, server, w.carry)
	return w
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

func (w *redisWire) carry(r *wire.Request) (*wire.Response, error) {
	o := w.opOf(r.Body)
	if o == nil {
		return r.Send()
	}
	f := pass
	if !w.calm {
		f = o.history.fate()
	}
	return w.fateful.carry(f, r, o, func(send func() (*wire.Response, error)) (*wire.Response, error) {
		o.leaves()
		res, err := send()
		if err == nil && bytes.HasPrefix(res.Body, []byte("-NOSCRIPT ")) {
			o.answered() // a server that does not know the script has not run it
		}
		return res, err
	})
}
