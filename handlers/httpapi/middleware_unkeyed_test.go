package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// ledger is a store whose transactions are one write, and the errors of its
// commits.
type ledger struct {
	*memory.Store
	commit  func() error
	commits int
}

func (l *ledger) Commit(context.Context, string, any) error {
	l.commits++
	return l.commit()
}

type entry struct{}

func (entry) Freeze() (empty bool, err error) { return false, nil }

func open(r *http.Request) { driver.Attach(r.Context(), func() entry { return entry{} }) }

// unkeyed returns the middleware of an executor that accepts requests without a
// key.
func unkeyed(t *testing.T, commit func() error, o *httpapi.Options) (*ledger, func(http.Handler) http.Handler) {
	t.Helper()
	l := &ledger{Store: memory.New(0), commit: commit}
	x := newExecutor(t, l, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	return l, httpapi.Middleware(x, httpapi.NoIdentity(), o)
}

var errRefused = &driver.Rejected{Err: errors.New("the account is empty")}

func TestRefusedTransactionOfARequestWithoutAKeyIsTheWholeResponse(t *testing.T) {
	for name, respond := range map[string]http.HandlerFunc{
		"a body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/1")
			w.Header().Set("Content-Length", "7")
			w.WriteHeader(201)
			fmt.Fprint(w, "created")
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "created")
			w.(http.Flusher).Flush()
			check.Is(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		},
		"copied":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("created")) },
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(201)
		},
		"hijacked": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			check.Is(t, err, http.ErrNotSupported)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, protect := unkeyed(t, func() error { return errRefused }, nil)
			server := serve(t, protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Early", "1")
				open(r)
				respond(w, r)
			})))
			r, err := post(t, server, "", "")
			check.Must(t, err)
			isProblem(t, r, 500)
			check.Lacks(t, r.body, "created")
			check.Equal(t, r.headers.Get("Location"), "")
			check.Equal(t, r.headers.Get("X-Early"), "")
			check.Equal(t, l.commits, 1)
		})
	}
}

func TestResponseToARequestWithoutAKeyFollowsTheCommit(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "1")
	l, protect := unkeyed(t, func() error {
		check.False(t, w.Flushed, "the response came first")
		check.True(t, w.Body.Len() <= 0, w.Body.Len())
		return nil
	}, nil)
	protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		open(r)
		header.Set("Location", "/1")
		w.WriteHeader(201)
		header.Set("X-Late", "1")
		_, _ = io.WriteString(w, "cre")
		fmt.Fprint(w, "ated")
		w.(http.Flusher).Flush()
	})).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
	got := w.Result()
	check.Equal(t, l.commits, 1)
	check.Equal(t, got.StatusCode, 201)
	check.Equal(t, w.Body.String(), "created")
	check.Equal(t, got.Header.Get("Location"), "/1")
	check.Equal(t, got.Header.Get("X-Request-Id"), "1")
	check.Equal(t, got.Header.Get("X-Late"), "")
}

// As with a key: an error of the handler commits nothing, whichever way it is
// reported.
func TestRequestWithoutAKeyThatFailsCommitsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
	}{
		"a status that is not stored": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusConflict) }, 409, "busy\n"},
		"Fail": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "created")
			httpapi.Fail(w, r, declined())
		}, 402, declinedProblem},
		"a panic": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "created")
			panic(http.ErrAbortHandler)
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, protect := unkeyed(t, func() error { return nil }, nil)
			server := serve(t, protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				open(r)
				c.handler(w, r)
			})))
			r, err := post(t, server, "", "")
			check.Equal(t, err == nil, c.status != 0, err)
			check.Equal(t, r.status, c.status)
			check.Equal(t, r.body, c.body)
			check.Equal(t, l.commits, 0)
		})
	}
}

// Work that is done stays done, as with a key.
func TestResponseTooLargeToHoldReportsThatTheWorkIsDone(t *testing.T) {
	l, protect := unkeyed(t, func() error { return nil }, &httpapi.Options{MaxResponseBytes: 10})
	w := httptest.NewRecorder()
	protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open(r)
		w.Header().Set("Location", "/1")
		_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 11)))
		_, tooLarge := errors.AsType[*httpapi.ResponseTooLargeError](err)
		check.True(t, tooLarge)
	})).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
	_, detail := isProblem(t, httpReply{w.Code, w.Header(), w.Body.String()}, 500)
	check.Contains(t, detail, "too large")
	check.Equal(t, w.Header().Get("Location"), "")
	check.Equal(t, l.commits, 1)
}

func TestTransactionPanicsAfterTheResponseHasBegun(t *testing.T) {
	for name, begin := range map[string]http.HandlerFunc{
		"Write":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
		"WriteHeader": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) },
		"an upgrade":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) },
		"WriteString": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
		"ReadFrom":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("x")) },
		"Flush":       func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"Fail":        func(w http.ResponseWriter, r *http.Request) { httpapi.Fail(w, r, declined()) },
		"Hijack": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			conn.Close()
		},
		"": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "1"); w.WriteHeader(103) },
	} {
		t.Run(name, func(t *testing.T) {
			l, protect := unkeyed(t, func() error { return nil }, nil)
			ended := make(chan any, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended <- recover() }()
				protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					begin(w, r)
					open(r)
				})).ServeHTTP(w, r)
			}))
			_, _ = post(t, server, "", "")
			panicked := <-ended
			server.Close()
			text, _ := panicked.(string)
			late := name != ""
			check.Equal(t, strings.Contains(text, "a transaction after the response"), late)
			check.Differ(t, (l.commits == 1), late)
		})
	}
}

// The response that has begun cannot report what the call failed with.
func TestResponseThatHasBegunIsCutOffByAnError(t *testing.T) {
	x := newExecutor(t, memory.New(0), adapter.Shared(&idempotent.Config{OnMissingKey: idempotent.RunMissingKey}))
	protected, _ := serveHTTP(t, x, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "created")
		_, _ = idempotent.Step(r.Context(), "a", func(context.Context) (int, error) { return 0, nil }) // refused
	})
	_, err := post(t, protected, "", "")
	check.Failed(t, err)
}

// Handlers look for these, and stream with them.
func TestRequestWithoutAKeyHasWhatItsServerOffers(t *testing.T) {
	offers := func(w http.ResponseWriter) string {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		_, pushes := w.(http.Pusher)
		_, copies := w.(io.ReaderFrom)
		_, writes := w.(io.StringWriter)
		return fmt.Sprint(flushes, hijacks, pushes, copies || pushes, writes) // io.Copy works without, too
	}
	_, protect := unkeyed(t, func() error { return nil }, nil)
	for _, two := range []bool{false, true} {
		var want, got string
		inner := protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = offers(w) }))
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			want = offers(w)
			inner.ServeHTTP(w, r)
		}))
		server.EnableHTTP2 = two
		server.StartTLS()
		_, err := post(t, server, "", "")
		check.Nil(t, err, two)
		check.Equal(t, got, want, two)
		server.Close()
	}
	inner := protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, ok := w.(http.Flusher)
		check.False(t, ok)
		check.Is(t, http.NewResponseController(w).EnableFullDuplex(), http.ErrNotSupported)
	}))
	inner.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest("POST", "/", nil))
}

func TestRequestWithoutAKeyCanBeUpgraded(t *testing.T) {
	_, protect := unkeyed(t, func() error { return nil }, nil)
	server := serve(t, protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
		_ = stream.Flush()
	})))
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, nil)
	check.Must(t, err)
	r.Header.Set("Connection", "upgrade")
	r.Header.Set("Upgrade", "echo")
	answer, err := server.Client().Do(r)
	check.Must(t, err)
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	check.Nil(t, err)
	check.Equal(t, answer.StatusCode, 101)
	check.Equal(t, line, "hello\n")
}

// One of the two wins: the response is streamed, or it waits for the commit.
func TestTransactionAndFirstByteAtTheSameTime(t *testing.T) {
	for range 50 {
		_, protect := unkeyed(t, func() error { return errRefused }, nil)
		w := httptest.NewRecorder()
		late := false
		protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var both sync.WaitGroup
			both.Go(func() { fmt.Fprint(w, "created") })
			both.Go(func() {
				defer func() { late = recover() != nil }()
				open(r)
			})
			both.Wait()
		})).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
		if late != (w.Body.String() == "created") {
			t.Fatalf("too late: %v, body %q", late, w.Body)
		}
	}
}

// A request that no server made may lack a URL, which only a fingerprint needs.
func TestRequestWithoutAKeyNeedsNoURL(t *testing.T) {
	_, middleware := unkeyed(t, nil, nil)
	w := httptest.NewRecorder()
	middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })).
		ServeHTTP(w, &http.Request{Method: http.MethodPut, Header: http.Header{}})
	check.Equal(t, w.Body.String(), "done")
}
