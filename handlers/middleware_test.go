package handlers_test

import (
	"bufio"
	"context"
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

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// serveHTTP serves one handler of net/http, protected and not.
func serveHTTP(t *testing.T, x *idempotent.Executor, o *handlers.HTTPOptions, handler http.HandlerFunc) (protected, plain *httptest.Server) {
	t.Helper()
	protected = httptest.NewUnstartedServer(handlers.Middleware(x, handlers.NoIdentity(), o)(handler))
	plain = httptest.NewUnstartedServer(handler)
	for _, s := range []*httptest.Server{protected, plain} {
		s.Config.ErrorLog = silent()
		s.Start()
		t.Cleanup(s.Close)
	}
	return protected, plain
}

func post(t *testing.T, server *httptest.Server, key, body string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/a%2Fb?q=1", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	answer, err := server.Client().Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), err
}

// What a first client gets through the middleware is what net/http would have
// given it, and so are statuses and bodies of repetitions.
func TestMiddlewareAnswersAsNetHTTP(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":              func(http.ResponseWriter, *http.Request) {},
		"an implicit 200":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"two statuses":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(202) },
		"a status after bytes": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a"); w.WriteHeader(202) },
		"a field too late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			w.Header().Set("Location", "/late")
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(201) },
		"a length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			fmt.Fprint(w, "ab")
		},
		"more than its length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, one := io.WriteString(w, "ab")
			_, two := io.WriteString(w, "c")
			if one != nil || !errors.Is(two, http.ErrContentLength) {
				panic(fmt.Sprint(one, two))
			}
		},
		"a body where there is none": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"bytes that are no text": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 0xff, 0xfe, 0}) },
		"the request": func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, r.URL, r.ContentLength, r.TransferEncoding, string(body), err, r.Body.Close())
		},
		"a form": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.FormValue("q")) },
	} {
		t.Run(name, func(t *testing.T) {
			protected, plain := serveHTTP(t, newExecutor(t, idempotent.NewMemory(0), nil), nil, handler)
			want, wantBody, err := post(t, plain, "k", "body")
			if err != nil {
				t.Fatal(err)
			}
			for _, mark := range []string{"", "true"} {
				got, gotBody, err := post(t, protected, "k", "body")
				if err != nil {
					t.Fatal(err)
				}
				if got.StatusCode != want.StatusCode || gotBody != wantBody || got.ContentLength != want.ContentLength ||
					got.Header.Get("Content-Type") != want.Header.Get("Content-Type") || got.Header.Get("Location") != want.Header.Get("Location") {
					t.Errorf("got %d %v %q, want %d %v %q", got.StatusCode, got.Header, gotBody, want.StatusCode, want.Header, wantBody)
				}
				if got.Header.Get("Idempotent-Replayed") != mark {
					t.Errorf("Idempotent-Replayed: %q, want %q", got.Header.Get("Idempotent-Replayed"), mark)
				}
			}
		})
	}
}

func TestMiddlewareLimitsRequests(t *testing.T) {
	runs := 0
	observed := 0
	x := newExecutor(t, idempotent.NewMemory(0), &idempotent.Config{Observer: observer(func(e idempotent.Event) {
		observed += e.RoundTrips
	})})
	protected, _ := serveHTTP(t, x, &handlers.HTTPOptions{MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) { runs++ })
	for body, want := range map[string]int{"0123456789": 200, "0123456789x": 413, strings.Repeat("x", 1000): 413} {
		got, text, err := post(t, protected, fmt.Sprint("k", len(body)), body)
		if err != nil || got.StatusCode != want {
			t.Errorf("%d bytes: got %v, %v", len(body), got, err)
		}
		if err == nil && want == 413 {
			isProblem(t, httpReply{got.StatusCode, got.Header, text}, 413)
		}
	}
	if runs != 1 || observed != 2 {
		t.Errorf("%d runs, %d calls to the store; want those of the first", runs, observed)
	}
}

// What the handler did is done, however it takes it that its answer does not
// fit: nobody gets it, and nobody runs it again.
func TestMiddlewareAnswerTooLarge(t *testing.T) {
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
			if tooLarge, ok := errors.AsType[*handlers.ResponseTooLargeError](err); !ok || tooLarge.Limit != limit || !strings.Contains(err.Error(), "10 bytes") {
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
			protected, _ := serveHTTP(t, newExecutor(t, idempotent.NewMemory(0), nil), &handlers.HTTPOptions{MaxResponseBytes: limit}, func(w http.ResponseWriter, r *http.Request) {
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

// Another panic in an answer that is too large is a panic.
func TestMiddlewarePanics(t *testing.T) {
	for name, panics := range map[string]func(http.ResponseWriter){
		"a bug":                   func(http.ResponseWriter) { panic("a bug") },
		"an abort":                func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"after part of an answer": func(w http.ResponseWriter) { fmt.Fprint(w, "part"); panic(http.ErrAbortHandler) },
		"a bug in a large answer": func(w http.ResponseWriter) { fmt.Fprint(w, strings.Repeat("x", 11)); panic("a bug") },
		"no status":               func(w http.ResponseWriter) { w.WriteHeader(0) },
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			protected, _ := serveHTTP(t, newExecutor(t, idempotent.NewMemory(0), nil), &handlers.HTTPOptions{MaxResponseBytes: 10}, func(w http.ResponseWriter, _ *http.Request) {
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
	x := newExecutor(t, idempotent.NewMemory(0), &idempotent.Config{Observer: observer(func(e idempotent.Event) { outcomes <- e })})
	protected, _ := serveHTTP(t, x, nil, func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
	conn, err := net.Dial("tcp", protected.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\nhalf of ")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	// That its context ends soon is not what keeps it from running.
	if e := <-outcomes; e.Outcome != idempotent.OutcomeFailed || e.RoundTrips != 0 || !errors.Is(e.Err, idempotent.ErrInvalidPayload) {
		t.Errorf("observed %+v", e)
	}
}

// One that goes away later ends the handler's context. The answer of a handler
// that finishes all the same is there for the repetition.
func TestMiddlewareClientGoneWhileWaiting(t *testing.T) {
	started, outcomes := make(chan struct{}), make(chan idempotent.Event, 2)
	x := newExecutor(t, idempotent.NewMemory(0), &idempotent.Config{Observer: observer(func(e idempotent.Event) { outcomes <- e })})
	protected, _ := serveHTTP(t, x, nil, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		w.WriteHeader(201)
		fmt.Fprint(w, "done all the same")
	})
	conn, err := net.Dial("tcp", protected.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /a%2Fb?q=1 HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 4\r\n\r\nbody")
	<-started
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if e := <-outcomes; e.Outcome != idempotent.OutcomeExecuted {
		t.Errorf("observed %+v", e)
	}
	r, text, err := post(t, protected, "k", "body")
	if err != nil || r.StatusCode != 201 || text != "done all the same" || r.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repetition got %v %q, %v", r, text, err)
	}
}

// Fields that are set around the middleware are in every answer, and the
// handler can take them away.
func TestMiddlewareWithinOthers(t *testing.T) {
	protect := handlers.Middleware(newExecutor(t, idempotent.NewMemory(0), nil), handlers.NoIdentity(), &handlers.HTTPOptions{MaxResponseBytes: 10})
	inner := protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("X-Taken")
		if r.URL.Path == "/large" {
			fmt.Fprint(w, strings.Repeat("x", 11))
		}
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.Header().Set("X-Taken", "yes")
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	for i, c := range []struct{ path, key, taken string }{
		{"/", "k", ""}, {"/", "k", "yes"}, {"/", "", "yes"}, {"/large", "l", "yes"}, {"/large", "l", "yes"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("r-", i)
		r.Header.Set("X-Request-Id", id)
		r.Header.Set("Idempotency-Key", c.key)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if answer.Header.Get("X-Request-Id") != id || answer.Header.Get("X-Taken") != c.taken {
			t.Errorf("%d: got %v", i, answer.Header)
		}
	}
}

// What is not protected goes through, streams, upgrades and all.
func TestMiddlewarePassesOthers(t *testing.T) {
	goOn := make(chan struct{})
	protected, _ := serveHTTP(t, newExecutor(t, idempotent.NewMemory(0), nil), nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Method", r.Method)
		fmt.Fprintln(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-goOn
		fmt.Fprintln(w, "second")
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", protected.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := protected.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "first\n" {
		t.Errorf("got %q, %v", line, err)
	}
	close(goOn)
	if line, err := lines.ReadString('\n'); err != nil || line != "second\n" {
		t.Errorf("got %q, %v", line, err)
	}
	for _, method := range []string{"HEAD", "OPTIONS"} {
		r, err := http.NewRequestWithContext(t.Context(), method, protected.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := protected.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != 200 || answer.Header.Get("X-Method") != method {
			t.Errorf("%s: got %v", method, answer)
		}
	}
}

// A handler called without a server, as in tests, may have no body.
func TestMiddlewareWithoutServer(t *testing.T) {
	type userKey struct{}
	scope := handlers.RequestScope(func(r *http.Request) (string, error) { return r.Context().Value(userKey{}).(string), nil })
	handler := handlers.Middleware(newExecutor(t, idempotent.NewMemory(0), nil), scope, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := idempotent.FromContext(r.Context()); !ok || idempotent.DownstreamKey(r.Context(), "charge") == "" {
			t.Error("the handler's context has no claim")
		}
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, len(body), err)
	}))
	r := &http.Request{Method: "POST", URL: &url.URL{Path: "/"}, Header: http.Header{"Idempotency-Key": {"k"}}}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), userKey{}, "ada")))
	if w.Code != 200 || w.Body.String() != "0 <nil>" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
