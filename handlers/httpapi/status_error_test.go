package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// hotel counts what a saga does.
type hotel struct {
	mu           sync.Mutex
	held, undone int
	undoes       error // what the next undo fails with
}

func (h *hotel) hold(ctx context.Context) error {
	_, err := idempotent.SagaStep(ctx, "hold", func(context.Context) (string, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held++
		return "room 1", nil
	}, func(context.Context, string) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err := h.undoes; err != nil {
			h.undoes = nil
			return err
		}
		h.undone++
		return nil
	})
	return err
}

func (h *hotel) check(t testing.TB, held, undone int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	check.Equal(t, h.held, held)
	check.Equal(t, h.undone, undone)
}

func declined() *httpapi.StatusError {
	return &httpapi.StatusError{
		Status: 402, Type: "https://example.com/problems/declined", Title: "Card declined", Detail: "The bank declined the card.",
		Err: errors.New("secret: 51"),
	}
}

const declinedProblem = `{"type":"https://example.com/problems/declined","title":"Card declined","status":402,"detail":"The bank declined the card."}`

// An error with a stored status fails the call permanently: its saga is
// undone, and every repetition gets the same problem.
func TestStatusErrorUndoesTheSagaAndIsReplayed(t *testing.T) {
	for name, fails := range map[string]func() error{
		"as it is":   func() error { return declined() },
		"wrapped":    func() error { return fmt.Errorf("order secret: %w", declined()) },
		"marked too": func() error { return idempotent.Retryable(declined()) },
	} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			var h hotel
			var observed []idempotent.Event
			store := &hooked{Store: memory.New(0)}
			x := newExecutor(t, store, &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { observed = append(observed, e) })})
			s := newSite(t, d, x, nil, func(ctx context.Context, _ int, _ string) (httpReply, error) {
				if err := h.hold(ctx); err != nil {
					return httpReply{}, err
				}
				return httpReply{}, fails()
			})
			first, again := s.get(k), s.get(k)
			if isProblem(t, first, 402); first.body != declinedProblem || again.body != first.body || again.status != 402 {
				t.Errorf("%s: got %s and %d %s", name, first.body, again.status, again.body)
			}
			check.Equal(t, again.headers.Get("Idempotent-Replayed"), "true", name)
			check.Equal(t, again.headers.Get("Content-Type"), "application/problem+json", name)
			s.ran(1)
			h.check(t, 1, 1)
			r, err := store.Get(t.Context(), store.last.ID)
			check.Nil(t, err, name)
			check.Equal(t, r.Status, driver.Failed, name)
			check.False(t, leaks(string(r.Data), "secret"), name)
			e := observed[0]
			check.Equal(t, e.ErrorType(), "*httpapi.StatusError", name)
			check.True(t, e.Permanent, name)
			check.True(t, leaks(e.Err.Error(), "secret: 51"), name)
		})
	}
}

// With any other status the key is free, and what was done stays.
func TestStatusErrorThatIsNotStoredReleasesTheKey(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for status, counts := range map[int]bool{429: false, 400: false, 503: true, 500: true, 0: true, 200: true, 600: true} {
			for _, attempts := range []int{0, 1} {
				var h hotel
				s := newSite(t, d, newExecutor(t, memory.New(0), &idempotent.Config{MaxAttempts: attempts}), nil, func(ctx context.Context, run int, body string) (httpReply, error) {
					if err := h.hold(ctx); err != nil || run > 1 {
						return httpReply{status: 201}, err
					}
					return httpReply{}, &httpapi.StatusError{Status: status, Detail: "Not now.", RetryAfter: 1500 * time.Millisecond}
				})
				want := status
				if status < 400 || status > 599 {
					want = 500
				}
				r := s.get(k)
				_, detail := isProblem(t, r, want)
				check.Equal(t, detail, "Not now.", status)
				check.Equal(t, r.headers.Get("Retry-After"), "2", status)
				r = s.get(k)
				if ended := counts && attempts == 1; (r.status == 201) == ended || ended && s.runs.Load() != 1 {
					t.Errorf("%d with MaxAttempts %d: a repetition got %+v after %d runs", status, attempts, r, s.runs.Load())
				}
				h.check(t, 1, 0)
			}
		}
	})
}

// The handler's own classification counts too: it may know that nobody should try
// again.
func TestPermanentStatusErrorIsStored(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
			return httpReply{}, idempotent.Permanent(&httpapi.StatusError{Status: 503, Detail: "Closed.", RetryAfter: time.Second})
		})
		first, again := s.get(k), s.get(k)
		if isProblem(t, first, 503); first.body != again.body || again.status != 503 || again.headers.Get("Idempotent-Replayed") != "true" {
			t.Errorf("got %+v and %+v", first, again)
		}
		check.Equal(t, first.headers.Get("Retry-After"), "1")
		check.Equal(t, again.headers.Get("Retry-After"), "")
		s.ran(1)
	})
}

// Until everything is undone, no client learns that the request has failed.
func TestUnfinishedUndoingReturns503(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		h := hotel{undoes: errors.New("secret: the hotel does not answer")}
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, _ int, _ string) (httpReply, error) {
			if err := h.hold(ctx); err != nil {
				return httpReply{}, err
			}
			return httpReply{}, declined()
		})
		unfinished := s.get(k)
		if isProblem(t, unfinished, 503); unfinished.headers.Get("Retry-After") != "1" || leaks(unfinished.body, "secret", "declined") {
			t.Errorf("got %+v", unfinished)
		}
		h.check(t, 1, 0)
		// The call that finishes it is the first to return the failure.
		first, again := s.get(k), s.get(k)
		if isProblem(t, first, 402); first.body != declinedProblem || again.body != declinedProblem || again.headers.Get("Idempotent-Replayed") != "true" {
			t.Errorf("got %+v and %+v", first, again)
		}
		h.check(t, 1, 1)
	})
}

// Such an error of a call within the handler says nothing of this call.
func TestUnfinishedUndoingOfAnotherCallIsTheHandlersError(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
			return httpReply{}, &idempotent.CompensationError{Step: "of another call", Err: errors.New("secret")}
		})
		r, err := s.send(t.Context(), k)
		if d.lambda {
			_, own := err.(*idempotent.CompensationError)
			check.True(t, own)
		} else if isProblem(t, r, 500); leaks(r.body, "secret") {
			t.Errorf("got %+v", r)
		}
	})
}

// A call within the handler that replays a StatusError responds as the one
// that has failed with it.
func TestStatusErrorOfACallWithinIsTheResponse(t *testing.T) {
	inner := newExecutor(t, memory.New(0), nil)
	charge := func(ctx context.Context) (string, error) { return "", idempotent.Permanent(declined()) }
	if _, err := idempotent.Do(t.Context(), inner, idempotent.Key{ID: "charge"}, charge); err == nil {
		t.Fatal("charged")
	}
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, _ int, _ string) (httpReply, error) {
			_, err := idempotent.Do(ctx, inner, idempotent.Key{ID: "charge"}, charge)
			return httpReply{}, err
		})
		for _, mark := range []string{"", "true"} {
			r := s.get(k)
			check.Equal(t, r.status, 402)
			check.Equal(t, r.body, declinedProblem)
			check.Equal(t, r.headers.Get("Idempotent-Replayed"), mark)
		}
		s.ran(1)
	})
}

// A handler need not know whether its request is protected.
func TestStatusErrorOfARequestThatIsNotProtected(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		var h hotel
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		s := newSite(t, d, x, nil, func(ctx context.Context, _ int, _ string) (httpReply, error) {
			if err := h.hold(ctx); err != nil {
				return httpReply{}, err
			}
			return httpReply{}, declined()
		})
		for _, call := range []httpCall{k.with(method("GET")), keyed()} {
			// net/http sends it at once, after what the handler has written.
			if r := s.get(call); !strings.HasSuffix(r.body, declinedProblem) || d.lambda && r.status != 402 {
				t.Errorf("%+v: got %+v", call, r)
			}
		}
		h.check(t, 2, 1) // a request without a key is a call, one with GET is none
	})
}

// Neither is a scope that refuses a caller.
func TestStatusErrorOfAScope(t *testing.T) {
	scope := httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) {
		return "", &httpapi.StatusError{Status: 401, Detail: "Sign in.", Err: errors.New("secret")}
	})
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		d.scope = func() httpapi.Scope { return scope }
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, created)
		r := s.get(k)
		_, detail := isProblem(t, r, 401)
		check.Equal(t, detail, "Sign in.")
		s.ran(0)
	})
}

// What is too long to be stored is not sent either: all receive one response.
func TestStatusErrorIsCutForAllAlike(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for i, text := range []string{strings.Repeat("é", 5000), strings.Repeat("<", 5000), strings.Repeat("a\xff", 5000)} {
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
				return httpReply{}, &httpapi.StatusError{Status: 402, Type: text, Title: text, Detail: text}
			})
			first, again := s.get(k), s.get(k)
			if isProblem(t, first, 402); len(first.body) > 4096 || len(first.body) < 3000 || first.body != again.body {
				t.Errorf("%d: got %d bytes and %d bytes", i, len(first.body), len(again.body))
			}
		}
	})
}

// JSON stores text only: what is not UTF-8 is replaced before the first response.
func TestStatusErrorThatIsNotUTF8ReplaysTheSameBytes(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for _, text := range []string{"a\xffb", "\xff\xfe", "\xed\xa0\x80 a lone surrogate", "é\xc3"} {
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
				return httpReply{}, &httpapi.StatusError{Status: 402, Type: text, Title: text, Detail: text}
			})
			first, again := s.get(k), s.get(k)
			if isProblem(t, first, 402); first.body != again.body {
				t.Errorf("%q: the first response is %q, the replay %q", text, first.body, again.body)
			}
			s.ran(1)
		}
	})
}

// A record that had no room for the message has the status.
func TestStatusErrorWhoseMessageWasShortened(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		store := &hooked{Store: memory.New(0)}
		s := newSite(t, d, newExecutor(t, store, nil), nil, func(context.Context, int, string) (httpReply, error) {
			return httpReply{}, declined()
		})
		s.get(k)
		data, err := (&idempotent.ReplayedError{Type: "StatusError", Message: declinedProblem[:40], Code: "http-402"}).Encode()
		check.Must(t, err)
		store.plant(t, func(r *driver.Record) { r.Status, r.Lease, r.Data = driver.Failed, time.Time{}, data })
		r := s.get(k)
		check.Equal(t, r.status, 402)
		check.Equal(t, r.body, `{"type":"about:blank","title":"Payment Required","status":402}`)
	})
}

// A status that a handler writes is a success, and leaves its saga as it is.
// That is easily a mistake, so it is logged: once.
func TestStoredErrorThatLeavesSagaStepsIsLoggedOnce(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for status, want := range map[int]int{402: 1, 201: 0, 503: 0} {
			var h hotel
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, _ int, body string) (httpReply, error) {
				if body != "nothing" {
					if err := h.hold(ctx); err != nil {
						return httpReply{}, err
					}
				}
				return httpReply{status: status}, nil
			})
			lines := logged(t, func() {
				s.get(keyed("a").with(body("nothing")))
				for i := range 3 {
					s.get(keyed(fmt.Sprint("k", i)))
				}
			})
			if len(lines) != want {
				t.Errorf("%d: logged %v", status, lines)
				continue
			}
			for _, line := range lines {
				if text := fmt.Sprint(line["msg"]); line["level"] != "WARN" || line["status"] != 402.0 || line["saga_steps"] != 1.0 ||
					line["operation"] != "create-payment" || !leaks(text, "httpapi.StatusError") {
					t.Errorf("logged %v", line)
				}
			}
		}
	})
}

func TestFailWithoutAnErrorPanics(t *testing.T) {
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), nil, func(w http.ResponseWriter, r *http.Request) { httpapi.Fail(w, r, nil) })
	_, _, err := post(t, protected, "k", "")
	check.Failed(t, err, "the connection is not cut")
}

// Of several errors the first counts, and others quote nothing.
func TestFailWithOtherErrors(t *testing.T) {
	runs := 0
	protected, plain := serveHTTP(t, newExecutor(t, memory.New(0), nil), nil, func(w http.ResponseWriter, r *http.Request) {
		runs++
		httpapi.Fail(w, r, errors.New("secret"))
		if r.URL.Path != "" && runs != 3 {
			httpapi.Fail(w, r, declined())
		}
	})
	for range 2 {
		r, text, err := post(t, protected, "k", "")
		check.Must(t, err)
		if isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500); leaks(text, "secret") {
			t.Errorf("got %s", text)
		}
	}
	r, text, err := post(t, plain, "k", "")
	check.Must(t, err)
	if isProblem(t, httpReply{r.StatusCode, r.Header, text}, 500); runs != 3 {
		t.Errorf("%d runs", runs)
	}
}

// The handler has made no response that its client could receive.
func TestHandlerThatReturnsAnUnstoredErrorHasFailed(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	w := postKeyed(httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.Fail(w, r, &httpapi.UnstoredError{Status: 500})
	})))
	check.Equal(t, w.Code, 500)
	h := httpapi.FunctionURL(x, httpapi.NoIdentity(), func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		return events.LambdaFunctionURLResponse{}, &httpapi.UnstoredError{Status: 500}
	}, nil)
	var event events.LambdaFunctionURLRequest
	event.Headers = map[string]string{"idempotency-key": "k"}
	event.RequestContext.HTTP.Method = http.MethodPost
	_, err := h(t.Context(), event)
	check.Failed(t, err)
}
