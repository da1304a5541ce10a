package lambdaruntime

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"

	"github.com/lambda-once/once/internal/wire"
)

// To adds a server, and returns the URL that the function must use. server is its
// name in each [Call]. The server receives the function's requests with its own
// host, so a signature that covers the host is invalid.
//
// The server of a target that begins with postgres:// or postgresql:// is PostgreSQL. It
// must ask for no password, and the function must not encrypt its connections, nor use
// COPY. That of a target that begins with redis:// is Redis. The function must speak
// version 2 of the protocol.
func (w *Wire) To(server, target string) (string, error) {
	to, err := url.Parse(target)
	if err != nil || to.Host == "" {
		return "", fmt.Errorf("lambdaruntime: the URL of %s is %q", server, target)
	}
	listen, address, port := wire.HTTP, target, ""
	switch to.Scheme {
	case "postgres", "postgresql":
		listen, port = wire.PostgreSQL, "5432"
	case "redis":
		listen, port = wire.Redis, "6379"
	}
	if port != "" {
		address = net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), port))
	}
	proxy, err := w.listen(server, listen, address, w.carry(server))
	if err != nil {
		return "", err
	}
	if port == "" {
		return proxy.URL(), nil
	}
	to.Host = proxy.Addr()
	return to.String(), nil
}

// carry counts the calls to a server, and does what is planned.
func (w *Wire) carry(server string) wire.Carry {
	return func(r *wire.Request) (*wire.Response, error) {
		operation := r.Operation
		switch {
		case operation == "": // a ping of PostgreSQL
			return r.Send()
		case server == RuntimeAPI:
			operation = path.Base(operation)
		}
		if plan := w.arrives(server, operation); plan != nil {
			return plan(r)
		}
		res, err := r.Send()
		if err != nil && r.Header != nil {
			return &wire.Response{Status: http.StatusBadGateway, Body: []byte("the server does not respond")}, nil
		}
		return res, err
	}
}

// listen starts a proxy, which Close closes.
func (w *Wire) listen(
	server string, listen func(string, wire.Carry) (*wire.Proxy, error), target string, carry wire.Carry,
) (*wire.Proxy, error) {
	proxy, err := listen(target, carry)
	if err != nil {
		return nil, fmt.Errorf("lambdaruntime: %s: %w", server, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proxies[proxy] = server
	return proxy, nil
}

// elsewhere is the proxy of all calls to other machines. It refuses them, so that no
// call goes uncounted.
func (w *Wire) elsewhere() (string, error) {
	const refusal = "not a server of the wire"
	proxy, err := w.listen("elsewhere", wire.HTTP, "http://elsewhere.invalid", func(r *wire.Request) (*wire.Response, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errs = append(w.errs, fmt.Errorf("lambdaruntime: %s: %s", r.Operation, refusal))
		return &wire.Response{Status: http.StatusBadGateway, Body: []byte(refusal)}, nil
	})
	if err != nil {
		return "", err
	}
	return proxy.URL(), nil
}
