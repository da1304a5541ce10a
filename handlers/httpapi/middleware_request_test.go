package httpapi_test

import (
	"bytes"
	"context"
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

// A body that arrives only in part has the fingerprint of another request.
func TestBodyWithoutItsLengthIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		outer  func(r *http.Request)
		status int
	}{
		"read":                    {func(r *http.Request) { _, _ = io.ReadAll(r.Body) }, 400},
		"removed":                 {func(r *http.Request) { r.Body = nil }, 400},
		"peeked":                  {func(r *http.Request) { _, _ = r.Body.Read(make([]byte, 1)) }, 400},
		"decompressed":            {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"amount": 10, "to": "ada"}`)) }, 400},
		"read and replaced":       {func(r *http.Request) { b, _ := io.ReadAll(r.Body); r.Body = io.NopCloser(bytes.NewReader(b)) }, 201},
		"of an unknown length":    {func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{}`)), -1 }, 201},
		"of a length that is new": {func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`[1]`)), 3 }, 201},
		"of no server":            {func(r *http.Request) { r.ContentLength = 0 }, 201},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				runs++
				w.WriteHeader(201)
			}))
			var w *httptest.ResponseRecorder
			lines := logged(t, func() { w = postKeyed(protected, c.outer) })
			check.Equal(t, w.Code, c.status)
			check.Equal(t, runs, c.status%2)
			if c.status == 400 {
				check.Contains(t, fmt.Sprint(lines), "a middleware around this one reads or decompresses the body")
			}
		})
	}
}

func TestPanicOfAScopeOrKeyFunctionIsObserved(t *testing.T) {
	crash := func(httpapi.Request) (idempotent.Key, error) { panic("broken") }
	for name, c := range map[string]struct {
		scope   httpapi.Scope
		options *httpapi.Options
	}{
		"scope":    {httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) { panic("broken") }), nil},
		"request":  {httpapi.RequestScope(func(*http.Request) (string, error) { panic("broken") }), nil},
		"key":      {httpapi.NoIdentity(), &httpapi.Options{Key: crash}},
		"ValidKey": {httpapi.NoIdentity(), &httpapi.Options{ValidKey: func(string) error { panic("broken") }}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []idempotent.Event
			x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) { seen = append(seen, e) })})
			protected := httpapi.Middleware(x, c.scope, c.options)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("ran") }))
			func() {
				defer func() { check.Equal(t, fmt.Sprint(recover()), "broken") }()
				postKeyed(protected)
			}()
			check.Equal(t, len(seen), 1)
			for _, e := range seen {
				check.Equal(t, e.Outcome, idempotent.OutcomeFailed)
				check.Contains(t, fmt.Sprint(e.Err), "panicked")
			}
		})
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
	isReply(t, r, 201, long, "")
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
