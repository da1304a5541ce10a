package lambdaruntime

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// To adds a server, and returns the URL that the function must use. server is its
// name in each [Call]. The server receives the function's requests with its own
// host, so a signature that covers the host is invalid.
//
// The server of a target that begins with postgres:// or postgresql:// is PostgreSQL. It
// must ask for no password, and the function must not encrypt its connections, nor use
// COPY.
func (w *Wire) To(server, target string) (string, error) {
	to, err := url.Parse(target)
	if err != nil || to.Host == "" {
		return "", fmt.Errorf("lambdaruntime: the URL of %s is %q", server, target)
	}
	if to.Scheme == "postgres" || to.Scheme == "postgresql" {
		return w.toPostgres(server, to)
	}
	return w.serve(server, w.around(server, w.forward(server, strings.TrimSuffix(target, "/"))))
}

// elsewhere is the proxy of all calls to other machines. It refuses them, so that no
// call goes uncounted.
func (w *Wire) elsewhere() (string, error) {
	return w.serve("elsewhere", http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		w.failed("elsewhere", fmt.Errorf("%s %s: not a server of the wire", in.Method, in.Host))
		http.Error(out, "not a server of the wire", http.StatusBadGateway)
	}))
}

func (w *Wire) serve(server string, h http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("lambdaruntime: %w", err)
	}
	proxy := &http.Server{Handler: h}
	w.mu.Lock()
	w.servers = append(w.servers, proxy)
	w.mu.Unlock()
	w.serving.Go(func() {
		if err := proxy.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.failed(server, err)
		}
	})
	return "http://" + listener.Addr().String(), nil
}

// forward replaces httputil.ReverseProxy, which cancels a call when its caller leaves.
// A killed process cancels nothing.
func (w *Wire) forward(server, target string) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		answer, err := w.send(in, target+in.URL.RequestURI())
		if err != nil {
			w.failed(server, err)
			http.Error(out, "the server does not answer", http.StatusBadGateway)
			return
		}
		for name, values := range answer.header {
			out.Header()[name] = values
		}
		out.WriteHeader(answer.status)
		if _, err := out.Write(answer.body); err != nil {
			panic(http.ErrAbortHandler) // the caller is gone
		}
	})
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (w *Wire) send(in *http.Request, url string) (a answer, err error) {
	req, err := http.NewRequestWithContext(w.ctx, in.Method, url, in.Body)
	if err != nil {
		return a, err
	}
	req.Header, req.ContentLength = in.Header, in.ContentLength
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return a, err
	}
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, body}, errors.Join(err, res.Body.Close())
}

func (w *Wire) failed(server string, err error) {
	if w.ctx.Err() != nil {
		return // Close was the reason
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, fmt.Errorf("lambdaruntime: %s: %w", server, err))
}

func operation(server string, in *http.Request) string {
	if server == RuntimeAPI {
		return path.Base(in.URL.Path)
	}
	if _, name, ok := strings.Cut(in.Header.Get("X-Amz-Target"), "."); ok {
		return name
	}
	return in.Method + " " + in.URL.Path
}

// nowhere is the writer of a response to a process that is about to be killed.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}
