package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// thenFails is a handler that fails after it has held a room.
func (h *hotel) thenFails(fails func() error) func(context.Context, int, string) (httpReply, error) {
	return func(ctx context.Context, _ int, _ string) (httpReply, error) {
		if err := h.hold(ctx); err != nil {
			return httpReply{}, err
		}
		return httpReply{}, fails()
	}
}

func (h *hotel) check(t testing.TB, held, undone int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	check.Equal(t, h.held, held)
	check.Equal(t, h.undone, undone)
}

func declined() error {
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
		"as it is":   declined,
		"wrapped":    func() error { return fmt.Errorf("order secret: %w", declined()) },
		"marked too": func() error { return idempotent.Retryable(declined()) },
	} {
		forEachHTTP(t, func(t *testing.T, d httpDriver) {
			var h hotel
			var observed []idempotent.Event
			store := &hooked{Store: memory.New(0)}
			x := newExecutor(t, store, &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { observed = append(observed, e) })})
			s := newSite(t, d, x, nil, h.thenFails(fails))
			first, again := s.get(k), s.get(k)
			isProblem(t, first, 402)
			check.Equal(t, first.body, declinedProblem, name)
			isReply(t, again, first.status, first.body, "true")
			check.Equal(t, again.headers.Get("Content-Type"), "application/problem+json", name)
			s.ran(1)
			h.check(t, 1, 1)
			r, err := store.Get(t.Context(), store.last.ID)
			check.Nil(t, err, name)
			check.Equal(t, r.Status, driver.Failed, name)
			check.Lacks(t, string(r.Data), "secret", name)
			e := observed[0]
			check.Equal(t, e.ErrorType(), "*httpapi.StatusError", name)
			check.True(t, e.Permanent, name)
			check.Contains(t, e.Err.Error(), "secret: 51", name)
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
				ended := counts && attempts == 1
				check.Differ(t, r.status == 201, ended, status, attempts)
				check.Equal(t, s.runs.Load() == 1, ended, status, attempts)
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
		isProblem(t, first, 503)
		isReply(t, again, first.status, first.body, "true")
		check.Equal(t, first.headers.Get("Retry-After"), "1")
		check.Equal(t, again.headers.Get("Retry-After"), "")
		s.ran(1)
	})
}

// Until everything is undone, no client learns that the request has failed.
func TestUnfinishedUndoingReturns503(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		h := hotel{undoes: errors.New("secret: the hotel does not answer")}
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, h.thenFails(declined))
		unfinished := s.get(k)
		isProblem(t, unfinished, 503)
		check.Equal(t, unfinished.headers.Get("Retry-After"), "1")
		check.Lacks(t, unfinished.body, "secret")
		check.Lacks(t, unfinished.body, "declined")
		h.check(t, 1, 0)
		// The call that finishes it is the first to return the failure.
		first, again := s.get(k), s.get(k)
		isProblem(t, first, 402)
		check.Equal(t, first.body, declinedProblem)
		isReply(t, again, first.status, first.body, "true")
		h.check(t, 1, 1)
	})
}

// A call within the handler that replays a StatusError responds as the one
// that has failed with it.
func TestStatusErrorOfACallWithinIsTheResponse(t *testing.T) {
	inner := newExecutor(t, memory.New(0), nil)
	charge := func(ctx context.Context) (string, error) { return "", idempotent.Permanent(declined()) }
	_, err := idempotent.Do(t.Context(), inner, idempotent.Key{ID: "charge"}, charge)
	check.Failed(t, err)
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(ctx context.Context, _ int, _ string) (httpReply, error) {
			_, err := idempotent.Do(ctx, inner, idempotent.Key{ID: "charge"}, charge)
			return httpReply{}, err
		})
		for _, mark := range []string{"", "true"} {
			isReply(t, s.get(k), 402, declinedProblem, mark)
		}
		s.ran(1)
	})
}

// A handler need not know whether its request is protected.
func TestStatusErrorOfARequestThatIsNotProtected(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		var h hotel
		x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
		s := newSite(t, d, x, nil, h.thenFails(declined))
		for _, call := range []httpCall{k.with(method("GET")), keyed()} {
			// net/http sends it at once, after what the handler has written.
			r := s.get(call)
			check.True(t, strings.HasSuffix(r.body, declinedProblem), r.body)
			check.True(t, r.status == 402 || !d.lambda, r.status)
		}
		h.check(t, 2, 1) // a request without a key is a call, one with GET is none
	})
}

// What is too long to be stored, or is not UTF-8, is not sent either: all receive one
// response.
func TestStatusErrorIsTheSameForAll(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		for _, text := range []string{strings.Repeat("é", 5000), strings.Repeat("<", 5000), strings.Repeat("a\xff", 5000),
			"a\xffb", "\xff\xfe", "\xed\xa0\x80 a lone surrogate", "é\xc3"} {
			s := newSite(t, d, newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
				return httpReply{}, &httpapi.StatusError{Status: 402, Type: text, Title: text, Detail: text}
			})
			first, again := s.get(k), s.get(k)
			isProblem(t, first, 402)
			isReply(t, again, first.status, first.body, "true")
			check.True(t, len(first.body) <= 4096, len(first.body))
			check.True(t, len(first.body) >= 3000 || len(text) < 100, len(first.body))
			s.ran(1)
		}
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
			check.Equal(t, len(lines), want, status)
			for _, line := range lines {
				isLine(t, line, map[string]any{"level": "WARN", "status": 402., "saga_steps": 1., "operation": "create-payment"})
				check.Contains(t, fmt.Sprint(line["msg"]), "httpapi.StatusError")
			}
		}
	})
}

func TestFailWithoutAnErrorPanics(t *testing.T) {
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), nil, func(w http.ResponseWriter, r *http.Request) { httpapi.Fail(w, r, nil) })
	_, err := post(t, protected, "k", "")
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
		r, err := post(t, protected, "k", "")
		check.Must(t, err)
		isProblem(t, r, 500)
		check.Lacks(t, r.body, "secret")
	}
	r, err := post(t, plain, "k", "")
	check.Must(t, err)
	isProblem(t, r, 500)
	check.Equal(t, runs, 3)
}

// What the handler has written before is dropped, even if it aborts.
func TestFailCountsIfTheHandlerAborts(t *testing.T) {
	h := &hotel{}
	x := newExecutor(t, memory.New(0), nil)
	site := httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.hold(r.Context()); err != nil {
			httpapi.Fail(w, r, err)
			return
		}
		fmt.Fprint(w, "held")
		httpapi.Fail(w, r, declined())
		panic(http.ErrAbortHandler)
	}))
	for range 2 {
		w := postKeyed(site)
		check.Equal(t, w.Code, 402)
		check.Equal(t, w.Body.String(), declinedProblem)
	}
	h.check(t, 1, 1)
}

// The client gets the status that the handler chose, and not a bare 500. The deadline is
// not the client's, so it applies to net/http too.
func TestStatusOfAHandlerThatWasCutOffIsReturned(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "payments")
	slow := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return &httpapi.StatusError{Status: 503, Detail: "The bank does not answer.", Err: ctx.Err()}
	}
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var r httpReply
			if x := newExecutor(t, memory.New(0), nil); d.lambda {
				var err error
				r, err = newSite(t, d, x, nil, func(ctx context.Context, _ int, _ string) (httpReply, error) { return httpReply{}, slow(ctx) }).send(ctx, k)
				check.Nil(t, err)
			} else { // no server within the bubble
				w := postKeyed(httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					httpapi.Fail(w, r, slow(r.Context()))
				})), func(r *http.Request) { *r = *r.WithContext(ctx) })
				r = httpReply{w.Code, w.Header(), w.Body.String()}
			}
			_, detail := isProblem(t, r, 503)
			check.Equal(t, detail, "The bank does not answer.")
			check.True(t, time.Since(begun) < 10*time.Second, time.Since(begun))
		})
	})
}
