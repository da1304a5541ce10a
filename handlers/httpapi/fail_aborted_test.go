package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

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
