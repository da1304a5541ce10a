package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// What the handler did is done, however it reacts when its response does not
// fit: nobody gets it, and nobody runs it again.
func TestMiddlewareReplacesATooLargeResponse(t *testing.T) {
	const limit = 10
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100<<10)) }))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = silent()
	for name, handler := range map[string]http.HandlerFunc{
		"in one piece": func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, strings.Repeat("x", limit+1))
			if tooLarge, ok := errors.AsType[*httpapi.ResponseTooLargeError](err); !ok || tooLarge.Limit != limit || !strings.Contains(err.Error(), "10 bytes") {
				t.Errorf("Write: %v", err)
			}
		},
		"streamed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 {
				fmt.Fprint(w, "data\n")
			}
			if _, ok := w.(http.Flusher); ok {
				t.Error("it can be flushed")
			}
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Flush: %v", err)
			}
			fmt.Fprint(w, "x") // would fit again
		},
		"by a proxy": proxy.ServeHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), &httpapi.Options{MaxResponseBytes: limit}, func(w http.ResponseWriter, r *http.Request) {
				runs++
				handler(w, r)
			})
			for _, mark := range []string{"", "true"} {
				r, text, err := post(t, protected, "k", "")
				if err != nil {
					t.Fatal(err)
				}
				if r.Header.Get("Idempotent-Replayed") != mark {
					t.Errorf("Idempotent-Replayed: %q, want %q", r.Header.Get("Idempotent-Replayed"), mark)
				}
				r.Header.Del("Idempotent-Replayed")
				if _, detail := isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500); !strings.Contains(detail, "too large") {
					t.Errorf("the detail is %q", detail)
				}
			}
			if runs != 1 {
				t.Errorf("%d runs", runs)
			}
		})
	}
}

// Any other panic in a response that is too large is a panic.
func TestMiddlewarePanics(t *testing.T) {
	for name, panics := range map[string]func(http.ResponseWriter){
		"a bug":                   func(http.ResponseWriter) { panic("a bug") },
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
			if r, _, err := post(t, protected, "k", ""); err == nil {
				t.Errorf("the connection is not cut: %v", r)
			}
			if r, _, err := post(t, protected, "k", ""); err != nil || r.StatusCode != 201 || runs != 2 {
				t.Errorf("the retry got %v, %v after %d runs", r, err, runs)
			}
		})
	}
}

// A client that goes away while it sends its request claims nothing.
func TestMiddlewareClientGoneWhileSending(t *testing.T) {
	outcomes := make(chan idempotent.Event, 1)
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { outcomes <- e })})
	protected, _ := serveHTTP(t, x, nil, func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
	conn, err := net.Dial("tcp", protected.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\nhalf of ")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	// It would run although its context ends soon.
	if e := <-outcomes; e.Outcome != idempotent.OutcomeFailed || e.RoundTrips != 0 || !errors.Is(e.Err, idempotent.ErrInvalidPayload) {
		t.Errorf("observed %+v", e)
	}
}

// One that goes away later is the one that repeats the request: what it began
// continues, and its response is stored for the repetition.
func TestMiddlewareClientGoneWhileWaiting(t *testing.T) {
	started, gone, outcomes := make(chan context.Context, 2), make(chan struct{}), make(chan idempotent.Event, 2)
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { outcomes <- e })})
	inner := httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gone
		if err := r.Context().Err(); err != nil {
			t.Errorf("its context has ended: %v", err)
		}
		w.WriteHeader(201)
		fmt.Fprint(w, "done all the same")
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started <- r.Context()
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /a%2Fb?q=1 HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 4\r\n\r\nbody")
	client := <-started
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-client.Done()
	close(gone)
	if e := <-outcomes; e.Outcome != idempotent.OutcomeExecuted {
		t.Errorf("observed %+v", e)
	}
	r, text, err := post(t, server, "k", "body")
	if err != nil || r.StatusCode != 201 || text != "done all the same" || r.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repetition got %v %q, %v", r, text, err)
	}
}

// A deadline that is not the client's applies.
func TestMiddlewareDeadlineHolds(t *testing.T) {
	protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deadline, ok := r.Context().Deadline(); !ok || time.Until(deadline) > time.Minute {
			t.Errorf("its deadline is %v, %v", deadline, ok)
		}
	}))
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Idempotency-Key", "k")
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	protected.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
}

// onceBehind posts twice to a handler behind the middleware, which must then have
// run want times.
func onceBehind(t *testing.T, o *httpapi.Options, want int, handler http.HandlerFunc) (second *http.Response) {
	t.Helper()
	runs := 0
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), o, func(w http.ResponseWriter, r *http.Request) {
		runs++
		handler(w, r)
	})
	for range 2 {
		r, _, err := post(t, protected, "k", "")
		if err != nil {
			t.Errorf("the connection is cut: %v", err)
		}
		second = r
	}
	if runs != want {
		t.Errorf("%d runs, want %d", runs, want)
	}
	return second
}

// A refusal that is too large is a refusal: nothing was done.
func TestRefusalThatIsTooLargeIsNotStored(t *testing.T) {
	down := true
	second := onceBehind(t, &httpapi.Options{MaxResponseBytes: 10}, 2, func(w http.ResponseWriter, _ *http.Request) {
		if down {
			down = false
			w.WriteHeader(503)
			fmt.Fprint(w, "down for maintenance")
			return
		}
		w.WriteHeader(201)
	})
	if second.StatusCode != 201 {
		t.Errorf("the retry gets %d", second.StatusCode)
	}
}

// A handler may panic with the error of Write. Its work is done.
func TestPanicWithTheErrorOfWriteRunsOnce(t *testing.T) {
	onceBehind(t, &httpapi.Options{MaxResponseBytes: 10}, 1, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(strings.Repeat("x", 20)); err != nil {
			panic(fmt.Errorf("answer: %w", err))
		}
	})
}

// An upstream that dies in the middle of its response has done its work.
func TestProxiedResponseThatIsCutOffRunsOnce(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(201)
		fmt.Fprint(w, "part")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = silent()
	if second := onceBehind(t, nil, 1, proxy.ServeHTTP); second.StatusCode != 500 {
		t.Errorf("the repetition gets %d", second.StatusCode)
	}
}

// The option is called when the work is done.
func TestPanicOfTheStoreOptionRunsOnce(t *testing.T) {
	onceBehind(t, &httpapi.Options{Store: func(int) bool { panic("a bug") }}, 1, func(http.ResponseWriter, *http.Request) {})
}
