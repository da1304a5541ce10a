package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The work was done by then: a release would have it done again.
func TestTooLargeResponseDoesNotRunAgainAfterFail(t *testing.T) {
	for name, end := range map[string]func(w http.ResponseWriter, r *http.Request, err error){
		"as it is": httpapi.Fail,
		"wrapped": func(w http.ResponseWriter, r *http.Request, err error) {
			httpapi.Fail(w, r, fmt.Errorf("write: %w", err))
		},
		"aborted": func(w http.ResponseWriter, r *http.Request, err error) {
			httpapi.Fail(w, r, err)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			x := newExecutor(t, memory.New(0), nil)
			h := httpapi.Middleware(x, httpapi.NoIdentity(), &httpapi.Options{MaxResponseBytes: 10})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				runs++
				w.WriteHeader(http.StatusCreated)
				if _, err := fmt.Fprint(w, "a receipt of more than ten bytes"); err != nil {
					end(w, r, err)
				}
			}))
			for range 2 {
				w := postKeyed(h)
				check.Equal(t, w.Code, 500)
				check.Contains(t, w.Body.String(), "was carried out")
			}
			check.Equal(t, runs, 1)
		})
	}
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

// The client gets the status that the handler chose, and not a bare 500.
func TestStatusOfAHandlerThatWasCutOffIsReturned(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "payments")
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		return &httpapi.StatusError{Status: 503, Detail: "The bank does not answer.", Err: ctx.Err()}
	}
	refused := func(t *testing.T, status int, body string) {
		t.Helper()
		check.Equal(t, status, 503)
		check.Contains(t, body, "The bank does not answer.")
	}
	t.Run("of an event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			h := httpapi.FunctionURL(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), func(ctx context.Context, _ events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
				return events.LambdaFunctionURLResponse{}, slow(ctx)
			}, nil)
			var event events.LambdaFunctionURLRequest
			event.Headers = map[string]string{"idempotency-key": "k"}
			event.RequestContext.HTTP.Method = http.MethodPost
			r, err := h(ctx, event)
			check.Nil(t, err)
			refused(t, r.StatusCode, r.Body)
		})
	})
	t.Run("of net/http", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			w := postKeyed(httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				httpapi.Fail(w, r, slow(r.Context()))
			})), func(r *http.Request) { *r = *r.WithContext(ctx) })
			refused(t, w.Code, w.Body.String())
		})
	})
}
