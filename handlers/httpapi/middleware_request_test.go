package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A form that was read before is missing in the body that is compared.
func TestFormThatWasReadEarlierPanics(t *testing.T) {
	protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("ran") }))
	defer func() { check.Contains(t, fmt.Sprint(recover()), "has read the body") }()
	postKeyed(protected, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		_ = r.PostFormValue("amount")
	})
}

// The headers that outer middleware sets are those of this request.
func TestOuterHeadersAreNotReplayed(t *testing.T) {
	protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/1")
	}))
	for _, origin := range []string{"https://a", "https://b"} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", origin)
		protected.ServeHTTP(w, r)
		got := w.Header()
		check.Equal(t, got.Get("Access-Control-Allow-Origin"), origin)
		check.Equal(t, got.Get("Location"), "/1")
	}
}

// Without a key nothing is stored, and so nothing is limited.
func TestUnkeyedRequestsHaveNoLimits(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	protected, _ := serveHTTP(t, x, &httpapi.Options{MaxResponseBytes: 10, MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.Nil(t, err)
		check.Differ(t, idempotent.DownstreamKey(r.Context(), "charge"), "")
		w.WriteHeader(201)
		check.Nil(t, http.NewResponseController(w).Flush(), "it cannot stream")
		fmt.Fprint(w, string(body))
	})
	long := strings.Repeat("x", 100)
	r, err := post(t, protected, "", long)
	check.Nil(t, err)
	check.Equal(t, r.status, 201)
	check.Equal(t, r.body, long)
}

func TestMiddlewareLimitsRequests(t *testing.T) {
	runs := 0
	observed := 0
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) {
		observed += e.RoundTrips
	})})
	protected, _ := serveHTTP(t, x, &httpapi.Options{MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) { runs++ })
	for body, want := range map[string]int{"0123456789": 200, "0123456789x": 413, strings.Repeat("x", 1000): 413} {
		r, err := post(t, protected, fmt.Sprint("k", len(body)), body)
		check.Nil(t, err)
		check.Equal(t, r.status, want)
		if want == 413 {
			isProblem(t, r, 413)
		}
	}
	check.Equal(t, runs, 1)
	check.Equal(t, observed, 2)
}
