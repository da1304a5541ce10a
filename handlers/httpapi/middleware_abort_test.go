package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// What the handler did is done, however it reacts when its response does not
// fit: nobody gets it, and nobody runs it again.
func TestMiddlewareReplacesATooLargeResponse(t *testing.T) {
	const limit = 10
	proxy := proxied(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100<<10)) })
	// The work was done by then, whatever becomes of the error of Write.
	then := func(end func(w http.ResponseWriter, r *http.Request, err error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			if _, err := fmt.Fprint(w, "a receipt of more than ten bytes"); err != nil {
				end(w, r, err)
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"in one piece": func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, strings.Repeat("x", limit+1))
			check.Deep(t, err, &httpapi.ResponseTooLargeError{Limit: limit})
			check.Says(t, err, "10 bytes")
		},
		"streamed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 {
				fmt.Fprint(w, "data\n")
			}
			_, ok := w.(http.Flusher)
			check.False(t, ok, "it can be flushed")
			check.Is(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
			fmt.Fprint(w, "x") // would fit again
		},
		"by a proxy": proxy,
		"then Fail":  then(httpapi.Fail),
		"then Fail, wrapped": then(func(w http.ResponseWriter, r *http.Request, err error) {
			httpapi.Fail(w, r, fmt.Errorf("write: %w", err))
		}),
		"then Fail, aborted": then(func(w http.ResponseWriter, r *http.Request, err error) {
			httpapi.Fail(w, r, err)
			panic(http.ErrAbortHandler)
		}),
		"then a panic": then(func(_ http.ResponseWriter, _ *http.Request, err error) { panic(fmt.Errorf("answer: %w", err)) }),
	} {
		t.Run(name, func(t *testing.T) {
			for i, r := range twiceBehind(t, &httpapi.Options{MaxResponseBytes: limit}, 1, handler) {
				check.Equal(t, r.headers.Get("Idempotent-Replayed"), []string{"", "true"}[i])
				r.headers.Del("Idempotent-Replayed")
				_, detail := isProblem(t, r, 500)
				check.Contains(t, detail, "was carried out, but its response was too large")
			}
		})
	}
}

// Any other panic in a response that is too large is a panic.
func TestMiddlewarePanics(t *testing.T) {
	for name, panics := range map[string]func(http.ResponseWriter){
		"an abort":                func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"after part of a refusal": func(w http.ResponseWriter) { w.WriteHeader(502); panic(http.ErrAbortHandler) },
		"a bug in a large answer": func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("x", 11)); panic("a bug") },
		"no status":               func(w http.ResponseWriter) { w.WriteHeader(0) },
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), &httpapi.Options{MaxResponseBytes: 10}, func(w http.ResponseWriter, _ *http.Request) {
				if runs++; runs == 1 {
					panics(w)
				}
				w.WriteHeader(201)
			})
			_, err := post(t, protected, "k", "")
			check.Failed(t, err, "the connection is not cut")
			r, err := post(t, protected, "k", "")
			check.Nil(t, err)
			check.Equal(t, r.status, 201)
			check.Equal(t, runs, 2)
		})
	}
}

// A client that goes away while it sends its request claims nothing.
func TestMiddlewareClientGoneWhileSending(t *testing.T) {
	outcomes := make(chan idempotent.Event, 1)
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { outcomes <- e })})
	protected, _ := serveHTTP(t, x, nil, func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
	conn, err := net.Dial("tcp", protected.Listener.Addr().String())
	check.Must(t, err)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf of ")
	check.Must(t, conn.Close())
	// It would run although its context ends soon.
	e := <-outcomes
	check.Equal(t, e.Outcome, idempotent.OutcomeFailed)
	check.Equal(t, e.RoundTrips, 0)
	check.Is(t, e.Err, idempotent.ErrInvalidPayload)
}

// One that goes away later is the one that repeats the request: what it began
// continues, and its response is stored for the repetition.
func TestMiddlewareClientGoneWhileWaiting(t *testing.T) {
	started, gone, outcomes := make(chan context.Context, 2), make(chan struct{}), make(chan idempotent.Event, 2)
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { outcomes <- e })})
	inner := httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gone
		check.Nil(t, r.Context().Err(), "its context has ended")
		w.WriteHeader(201)
		fmt.Fprint(w, "done all the same")
	}))
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started <- r.Context()
		inner.ServeHTTP(w, r)
	}))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	check.Must(t, err)
	fmt.Fprint(conn, "POST /a%2Fb?q=1 HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 4\r\n\r\nbody")
	client := <-started
	check.Must(t, conn.Close())
	<-client.Done()
	close(gone)
	check.Equal(t, (<-outcomes).Outcome, idempotent.OutcomeExecuted)
	r, err := post(t, server, "k", "body")
	check.Nil(t, err)
	isReply(t, r, 201, "done all the same", "true")
}

// twiceBehind posts twice to a handler behind the middleware, which must then have run
// so often.
func twiceBehind(t *testing.T, o *httpapi.Options, runs int, handler http.HandlerFunc) (replies [2]httpReply) {
	t.Helper()
	ran := 0
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), o, func(w http.ResponseWriter, r *http.Request) {
		ran++
		handler(w, r)
	})
	for i := range replies {
		var err error
		replies[i], err = post(t, protected, "k", "")
		check.Must(t, err, "the connection is cut")
	}
	check.Equal(t, ran, runs)
	return replies
}

// A refusal that is too large is a refusal: nothing was done.
func TestRefusalThatIsTooLargeIsNotStored(t *testing.T) {
	down := true
	replies := twiceBehind(t, &httpapi.Options{MaxResponseBytes: 10}, 2, func(w http.ResponseWriter, _ *http.Request) {
		if down {
			down = false
			w.WriteHeader(503)
			fmt.Fprint(w, "down for maintenance")
			return
		}
		w.WriteHeader(201)
	})
	check.Equal(t, replies[1].status, 201)
}

// An upstream that dies in the middle of its response has done its work.
func TestProxiedResponseThatIsCutOffRunsOnce(t *testing.T) {
	proxy := proxied(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(201)
		fmt.Fprint(w, "part")
		check.Nil(t, http.NewResponseController(w).Flush())
		panic(http.ErrAbortHandler)
	})
	check.Equal(t, twiceBehind(t, nil, 1, proxy)[1].status, 500)
}

// proxied is a handler that passes requests on to another server.
func proxied(t *testing.T, upstream http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	target, err := url.Parse(serve(t, upstream).URL)
	check.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = silent()
	return proxy.ServeHTTP
}

// The option is called when the work is done.
func TestPanicOfTheStoreOptionRunsOnce(t *testing.T) {
	twiceBehind(t, &httpapi.Options{Store: func(int) bool { panic("a bug") }}, 1, func(http.ResponseWriter, *http.Request) {})
}
