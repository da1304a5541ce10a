package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

var (
	isLine      = handlertest.IsLine
	logged      = handlertest.Logged
	newExecutor = handlertest.Executor
)

// forEachHTTP runs a test with every adapter.
func forEachHTTP(t *testing.T, test func(t *testing.T, d httpDriver)) {
	for _, d := range httpDrivers {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// site is a handler behind an adapter, which counts its runs.
type site struct {
	t    testing.TB
	send httpEndpoint
	runs atomic.Int64
}

// newSite deploys work, which gets the number of its run.
func newSite(t testing.TB, d httpDriver, x *idempotent.Executor, o *httpapi.Options, work func(ctx context.Context, run int, body string) (httpReply, error)) *site {
	t.Helper()
	s := &site{t: t}
	s.send = d.deploy(t, x, d.scope(), func(ctx context.Context, body string) (httpReply, error) {
		return work(ctx, int(s.runs.Add(1)), body)
	}, o)
	return s
}

func (s *site) get(c httpCall) httpReply {
	s.t.Helper()
	r, err := s.send(context.Background(), c)
	if err != nil {
		s.t.Fatalf("%+v: %v", c, err)
	}
	return r
}

func (s *site) ran(want int) {
	s.t.Helper()
	if got := int(s.runs.Load()); got != want {
		s.t.Errorf("the handler ran %d times, want %d", got, want)
	}
}

// isReply checks a response, and the header with which a replay is marked.
func isReply(t testing.TB, r httpReply, status int, body, mark string, about ...any) {
	t.Helper()
	check.Equal(t, r.status, status, about...)
	check.Equal(t, r.body, body, about...)
	check.Equal(t, r.headers.Get("Idempotent-Replayed"), mark, about...)
}

// isProblem checks a response of Once itself.
func isProblem(t testing.TB, r httpReply, status int) (title, detail string) {
	t.Helper()
	var p struct {
		Type, Title, Detail string
		Status              int
	}
	err := json.Unmarshal([]byte(r.body), &p)
	check.Nil(t, err)
	check.Equal(t, r.status, status)
	check.Equal(t, p.Status, status)
	check.Equal(t, r.headers.Get("Content-Type"), "application/problem+json")
	check.Differ(t, p.Type, "")
	check.Differ(t, p.Title, "")
	check.Differ(t, p.Detail, "")
	check.Equal(t, r.headers.Get("Idempotent-Replayed"), "", "a problem has the header of a replay")
	return p.Title, p.Detail
}

// hooked is a store with something in the way of its calls.
type hooked struct {
	*memory.Store
	create func(r driver.Record) error
	change func(f driver.Fence, c driver.Change) error

	mu   sync.Mutex
	last driver.Record // created
}

func (h *hooked) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if h.create != nil {
		if err := h.create(r); err != nil {
			return driver.Record{}, false, err
		}
	}
	h.mu.Lock()
	h.last = r
	h.mu.Unlock()
	return h.Store.Create(ctx, r, cutoff, with)
}

func (h *hooked) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if h.change != nil {
		if err := h.change(f, c); err != nil {
			return driver.Record{}, false, err
		}
	}
	return h.Store.Change(ctx, f, c)
}

// plant puts another's record in the place of the one created last.
func (h *hooked) plant(t testing.TB, change func(r *driver.Record)) {
	t.Helper()
	h.mu.Lock()
	r := h.last
	h.mu.Unlock()
	r.Owner = "another"
	change(&r)
	check.Nil(t, h.Put(r))
}

// postKeyed sends a request with the key k to a handler of net/http.
func postKeyed(h http.Handler, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(`{}`))
	r.Header.Set("Idempotency-Key", "k")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type (
	v2Request  = events.APIGatewayV2HTTPRequest
	v2Response = events.APIGatewayV2HTTPResponse
)

// postV2 sends a request with the key k to a handler of an HTTP API that returns r and
// err.
func postV2(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, o *httpapi.Options, r v2Response, err error, change ...func(*v2Request)) (v2Response, error) {
	e := v2Request{Headers: map[string]string{"idempotency-key": "k"}}
	e.RequestContext.HTTP.Method = http.MethodPost
	for _, f := range change {
		f(&e)
	}
	return httpapi.APIGatewayV2(x, scope, func(context.Context, v2Request) (v2Response, error) { return r, err }, o)(t.Context(), e)
}
