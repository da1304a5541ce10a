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
)

// A form that was read before is missing in the body that is compared.
func TestFormThatWasReadEarlierPanics(t *testing.T) {
	protected := httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("ran") }))
	r := httptest.NewRequest("POST", "/pay", strings.NewReader("amount=10"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Idempotency-Key", "k")
	_ = r.PostFormValue("amount")
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "has read the body") {
			t.Errorf("panics with %v", p)
		}
	}()
	protected.ServeHTTP(httptest.NewRecorder(), r)
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
		if got := w.Header(); got.Get("Access-Control-Allow-Origin") != origin || got.Get("Location") != "/1" {
			t.Errorf("%s gets %v", origin, got)
		}
	}
}

// Without a key nothing is stored, and so nothing is limited.
func TestUnkeyedRequestsHaveNoLimits(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	protected, _ := serveHTTP(t, x, &httpapi.Options{MaxResponseBytes: 10, MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || idempotent.DownstreamKey(r.Context(), "charge") == "" {
			t.Error(err)
		}
		w.WriteHeader(201)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("it cannot stream: %v", err)
		}
		fmt.Fprint(w, string(body))
	})
	long := strings.Repeat("x", 100)
	r, err := protected.Client().Post(protected.URL, "text/plain", strings.NewReader(long))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 201 || string(text) != long {
		t.Errorf("%d %q, %v", r.StatusCode, text, err)
	}
}

func TestMiddlewareLimitsRequests(t *testing.T) {
	runs := 0
	observed := 0
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: handlertest.Observer(func(e idempotent.Event) {
		observed += e.RoundTrips
	})})
	protected, _ := serveHTTP(t, x, &httpapi.Options{MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) { runs++ })
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
