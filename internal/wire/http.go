package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// HTTP starts a proxy in front of a server, which receives requests with its own host: a
// signature that covers the host is invalid.
func HTTP(target string, carry Carry) (*Proxy, error) {
	if u, err := url.Parse(target); err != nil || u.Host == "" {
		return nil, fmt.Errorf("wire: %q is no URL of a server", target)
	}
	p, err := listen()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	front := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		p.serveHTTP(out, in, carry, func(body []byte) (*Response, error) {
			return p.sendHTTP(transport, strings.TrimSuffix(target, "/")+in.URL.RequestURI(), in, body)
		})
	})}
	p.end = func() error {
		defer transport.CloseIdleConnections()
		// Close would not wait for handlers. They return soon, because ctx is done.
		return front.Shutdown(context.Background())
	}
	p.serving.Go(func() {
		if err := front.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			p.failed(err)
		}
	})
	return p, nil
}

// Handler puts carry in front of a server of this process.
func Handler(server http.Handler, carry Carry) http.Handler {
	p := &Proxy{ctx: context.Background()}
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		p.serveHTTP(out, in, carry, func(body []byte) (*Response, error) {
			in.Body = io.NopCloser(bytes.NewReader(body))
			answer := &answer{Response{Status: http.StatusOK, Header: http.Header{}}}
			server.ServeHTTP(answer, in)
			return &answer.Response, nil
		})
	})
}

// answer is the writer of a Response.
type answer struct{ Response }

func (a *answer) Header() http.Header    { return a.Response.Header }
func (a *answer) WriteHeader(status int) { a.Status = status }

func (a *answer) Write(p []byte) (int, error) {
	a.Body = append(a.Body, p...)
	return len(p), nil
}

func (p *Proxy) serveHTTP(out http.ResponseWriter, in *http.Request, carry Carry, send func([]byte) (*Response, error)) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a process that was killed
	}
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	res, err := carry(&Request{
		Context: ctx, Operation: operation(in), Header: in.Header, Body: body, send: send,
		late: func(body []byte) func() (*Response, error) {
			return func() (*Response, error) { return send(body) }
		},
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range res.Header {
		out.Header()[name] = values
	}
	if out.Header().Get("Content-Length") == "" {
		out.Header().Set("Content-Length", strconv.Itoa(len(res.Body)))
	}
	out.WriteHeader(res.Status)
	if res.Torn { // half of what Content-Length promises
		if _, err := out.Write(res.Body[:len(res.Body)/2]); err == nil {
			_ = http.NewResponseController(out).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	if _, err := out.Write(res.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// sendHTTP does not use the context of the sender: one that has died cancels nothing.
func (p *Proxy) sendHTTP(transport *http.Transport, url string, in *http.Request, body []byte) (*Response, error) {
	out, err := http.NewRequestWithContext(p.ctx, in.Method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = in.Header.Clone()
	res, err := transport.RoundTrip(out)
	if err != nil {
		p.failed(err)
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		p.failed(err)
		return nil, err
	}
	return &Response{Status: res.StatusCode, Header: res.Header, Body: answer}, nil
}

func operation(in *http.Request) string {
	if in.URL.Host != "" {
		return in.Method + " " + in.URL.Host
	}
	if _, name, ok := strings.Cut(in.Header.Get("X-Amz-Target"), "."); ok {
		return name
	}
	return in.Method + " " + in.URL.Path
}
