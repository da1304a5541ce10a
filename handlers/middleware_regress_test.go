package handlers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// What hostile readings of the middleware found, one test each.

// onceBehind posts twice to a handler behind the middleware, and wants it to
// have run as often as said.
func onceBehind(t *testing.T, o *handlers.HTTPOptions, want int, handler http.HandlerFunc) (second *http.Response) {
	t.Helper()
	runs := 0
	protected, _ := serveHTTP(t, newExecutor(t, memory.New(0), nil), o, func(w http.ResponseWriter, r *http.Request) {
		runs++
		handler(w, r)
	})
	for range 2 {
		r, _, err := post(t, protected, "k", "")
		if err != nil {
			t.Errorf("the connection is cut: %v", err)
		}
		second = r
	}
	if runs != want {
		t.Errorf("%d runs, want %d", runs, want)
	}
	return second
}

// A refusal that is too large is a refusal: nothing was done.
func TestRefusalTooLarge(t *testing.T) {
	down := true
	second := onceBehind(t, &handlers.HTTPOptions{MaxResponseBytes: 10}, 2, func(w http.ResponseWriter, _ *http.Request) {
		if down {
			down = false
			w.WriteHeader(503)
			fmt.Fprint(w, "down for maintenance")
			return
		}
		w.WriteHeader(201)
	})
	if second.StatusCode != 201 {
		t.Errorf("the retry gets %d", second.StatusCode)
	}
}

// A handler may panic with what Write gave it. Its work is done.
func TestPanicWithTheErrorOfWrite(t *testing.T) {
	onceBehind(t, &handlers.HTTPOptions{MaxResponseBytes: 10}, 1, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(strings.Repeat("x", 20)); err != nil {
			panic(fmt.Errorf("answer: %w", err))
		}
	})
}

// An upstream that dies in the middle of its answer has done its work.
func TestProxiedAnswerIsBrokenOff(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(201)
		fmt.Fprint(w, "part")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = silent()
	if second := onceBehind(t, nil, 1, proxy.ServeHTTP); second.StatusCode != 500 {
		t.Errorf("the repetition gets %d", second.StatusCode)
	}
}

// An option that panics is asked when the work is done.
func TestStoreOptionPanics(t *testing.T) {
	onceBehind(t, &handlers.HTTPOptions{Store: func(int) bool { panic("a bug") }}, 1, func(http.ResponseWriter, *http.Request) {})
}

// A form that was read outside is not in the body that is compared.
func TestFormReadEarlier(t *testing.T) {
	protected := handlers.Middleware(newExecutor(t, memory.New(0), nil), handlers.NoIdentity(), nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("ran") }))
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

// What is around the middleware answers for this request, not for the first.
func TestFieldsFromAroundAreNotReplayed(t *testing.T) {
	protected := handlers.Middleware(newExecutor(t, memory.New(0), nil), handlers.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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

// Without a key nothing is kept, and so nothing is limited.
func TestUnkeyedRequestsHaveNoLimits(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	protected, _ := serveHTTP(t, x, &handlers.HTTPOptions{MaxResponseBytes: 10, MaxRequestBytes: 10}, func(w http.ResponseWriter, r *http.Request) {
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
