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
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
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

// postBare sends a request without a key.
func postBare(server *httptest.Server) (*http.Response, string, error) {
	answer, err := server.Client().Post(server.URL, "text/plain", nil)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), err
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
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Flush: %v", err)
			}
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
			if !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Hijack: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, protect := unkeyed(t, func() error { return errRefused }, nil)
			server := httptest.NewServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Early", "1")
				open(r)
				respond(w, r)
			})))
			defer server.Close()
			r, text, err := postBare(server)
			if err != nil {
				t.Fatal(err)
			}
			isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500)
			if strings.Contains(text, "created") || r.Header.Get("Location") != "" || r.Header.Get("X-Early") != "" {
				t.Errorf("the client receives %v %q of the handler", r.Header, text)
			}
			if l.commits != 1 {
				t.Errorf("%d commits", l.commits)
			}
		})
	}
}

func TestResponseToARequestWithoutAKeyFollowsTheCommit(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "1")
	l, protect := unkeyed(t, func() error {
		if w.Flushed || w.Body.Len() > 0 {
			t.Error("the response came first")
		}
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
	if l.commits != 1 || got.StatusCode != 201 || w.Body.String() != "created" ||
		got.Header.Get("Location") != "/1" || got.Header.Get("X-Request-Id") != "1" || got.Header.Get("X-Late") != "" {
		t.Errorf("%d commits, then %d %v %q", l.commits, got.StatusCode, got.Header, w.Body)
	}
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
	} {
		t.Run(name, func(t *testing.T) {
			l, protect := unkeyed(t, func() error { return nil }, nil)
			server := httptest.NewServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				open(r)
				c.handler(w, r)
			})))
			defer server.Close()
			if r, text, err := postBare(server); err != nil || r.StatusCode != c.status || text != c.body || l.commits != 0 {
				t.Errorf("%v, %q, %v, %d commits", r, text, err, l.commits)
			}
		})
	}
	t.Run("a panic", func(t *testing.T) {
		l, protect := unkeyed(t, func() error { return nil }, nil)
		server := httptest.NewUnstartedServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			open(r)
			fmt.Fprint(w, "created")
			panic(http.ErrAbortHandler)
		})))
		server.Config.ErrorLog = silent()
		server.Start()
		defer server.Close()
		if _, _, err := postBare(server); err == nil || l.commits != 0 {
			t.Errorf("%v, %d commits", err, l.commits)
		}
	})
}

// Work that is done stays done, as with a key.
func TestResponseTooLargeToHoldReportsThatTheWorkIsDone(t *testing.T) {
	l, protect := unkeyed(t, func() error { return nil }, &httpapi.Options{MaxResponseBytes: 10})
	w := httptest.NewRecorder()
	protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open(r)
		w.Header().Set("Location", "/1")
		_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", 11)))
		if _, tooLarge := errors.AsType[*httpapi.ResponseTooLargeError](err); !tooLarge {
			t.Errorf("Copy: %v", err)
		}
	})).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
	if _, detail := isProblem(t, httpReply{w.Code, w.Header(), w.Body.String()}, 500); !strings.Contains(detail, "too large") || w.Header().Get("Location") != "" {
		t.Errorf("%v, the detail is %q", w.Header(), detail)
	}
	if l.commits != 1 {
		t.Errorf("%d commits", l.commits)
	}
}

func TestTransactionPanicsAfterTheResponseHasBegun(t *testing.T) {
	for name, begin := range map[string]http.HandlerFunc{
		"Write":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
		"WriteHeader": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) },
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
			_, _, _ = postBare(server)
			panicked := <-ended
			server.Close()
			text, _ := panicked.(string)
			if late := name != ""; strings.Contains(text, "a transaction after the response") != late || (l.commits == 1) == late {
				t.Errorf("panic %v, %d commits", panicked, l.commits)
			}
		})
	}
}

// The response that has begun cannot report what the call failed with.
func TestResponseThatHasBegunIsCutOffByAnError(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey, Shared: true})
	protected, _ := serveHTTP(t, x, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "created")
		_, _ = idempotent.Step(r.Context(), "a", func(context.Context) (int, error) { return 0, nil }) // refused
	})
	if r, text, err := postBare(protected); err == nil {
		t.Errorf("got %v %q", r, text)
	}
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
		if _, _, err := postBare(server); err != nil || got != want {
			t.Errorf("HTTP/2 %v: %s, want %s; %v", two, got, want, err)
		}
		server.Close()
	}
	inner := protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Flusher); ok {
			t.Error("a client that cannot be flushed is")
		}
		if err := http.NewResponseController(w).EnableFullDuplex(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("EnableFullDuplex: %v", err)
		}
	}))
	inner.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest("POST", "/", nil))
}

func TestRequestWithoutAKeyCanBeUpgraded(t *testing.T) {
	_, protect := unkeyed(t, func() error { return nil }, nil)
	server := httptest.NewServer(protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
		_ = stream.Flush()
	})))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "upgrade")
	r.Header.Set("Upgrade", "echo")
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); answer.StatusCode != 101 || line != "hello\n" {
		t.Errorf("%d %q, %v", answer.StatusCode, line, err)
	}
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
