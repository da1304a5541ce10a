package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// principal is the caller that a middleware around ours has put into the context.
type principal struct{}

func as(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, principal{}, user)
}

func userIn(ctx context.Context) string {
	user, _ := ctx.Value(principal{}).(string)
	return user
}

// savingUser stores the user in the context, and X-Listed.
func savingUser() *httpapi.ResumeOptions {
	return &httpapi.ResumeOptions{
		Headers: []string{"x-listed", "Host"},
		Save:    func(ctx context.Context, _ httpapi.Caller) (string, error) { return userIn(ctx), nil },
		Restore: func(ctx context.Context, saved string) (context.Context, error) { return as(ctx, saved), nil },
	}
}

// seenRequest is what a handler sees of a request, in any form of an event.
type seenRequest struct {
	Method, Path, RawPath, Query, Body, Route, Stage, Parameter, User string
	Headers, QueryStringParameters                                    map[string]string
	MultiValueHeaders, MultiValueQueryStringParameters                map[string][]string
	Secrets                                                           []string // headers that are not stored
}

var listed = []string{"content-encoding", "content-type", "idempotency-key", "x-listed", "host"}

// stored returns what of a request is stored. A resumed event has its values in both maps.
func (s seenRequest) stored(of seenRequest) seenRequest {
	s.Secrets = nil
	if of.MultiValueHeaders == nil {
		s.MultiValueHeaders, s.MultiValueQueryStringParameters = nil, nil
	}
	if of.Headers == nil {
		s.Headers = nil
	}
	if of.QueryStringParameters == nil {
		s.QueryStringParameters = nil
	}
	if len(s.MultiValueQueryStringParameters) == 0 {
		s.MultiValueQueryStringParameters = nil
	}
	return s
}

// without takes the headers that are not stored out of a map, and names them.
func without[V any](headers map[string]V, secrets *[]string) map[string]V {
	if headers == nil {
		return nil
	}
	kept := map[string]V{}
	for name, value := range headers {
		if name = strings.ToLower(name); slices.Contains(listed, name) {
			kept[name] = value
		} else {
			*secrets = append(*secrets, name)
		}
	}
	return kept
}

// resumable is a handler behind an adapter, of which requests can be resumed.
type resumable struct {
	send    httpEndpoint
	resumed handlers.Resumable
	// seen are the requests of its runs.
	seen []seenRequest
	// answers returns the response of a run.
	answers func(ctx context.Context, run int) (status int, err error)
}

func (h *resumable) see(ctx context.Context, s seenRequest) (int, error) {
	s.User = userIn(ctx)
	h.seen = append(h.seen, s)
	if h.answers == nil {
		return 201, nil
	}
	return h.answers(ctx, len(h.seen))
}

// resumableHandler makes a handler behind an adapter.
type resumableHandler = func(testing.TB, *idempotent.Executor, httpapi.Scope, *httpapi.Options) *resumable

func resumableEvents[Req events.ALBTargetGroupRequest | events.APIGatewayProxyRequest | events.APIGatewayV2HTTPRequest | events.LambdaFunctionURLRequest, Resp any](protect protection[Req, Resp], event func(testing.TB, httpCall) map[string]any) resumableHandler {
	return func(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, o *httpapi.Options) *resumable {
		h := &resumable{}
		handler := func(ctx context.Context, e Req) (response Resp, _ error) {
			status, err := h.see(ctx, seenEvent(t, e))
			check.Nil(t, convert(map[string]any{"statusCode": status, "body": "done"}, &response))
			return response, err
		}
		protected := protect(x, scope, handler, o)
		h.resumed = httpapi.ResumedEvent(x, scope, handler, o)
		h.send = func(ctx context.Context, c httpCall) (httpReply, error) {
			c = c.orDefaults()
			members := event(t, c)
			members["body"], members["isBase64Encoded"] = c.eventBody()
			members["cookies"] = []string{"session=secret"}
			members["pathParameters"] = map[string]string{"id": "7"}
			query, err := url.ParseQuery(c.query)
			switch {
			case members["resource"] != nil:
				members["queryStringParameters"] = lastValues(query)
			case err == nil && members["rawQueryString"] != nil:
				members["queryStringParameters"] = joinedValues(query)
			}
			answer, err := invoke(as(ctx, c.user), protected, members)
			if err != nil {
				return httpReply{}, err
			}
			return wire(answer)
		}
		return h
	}
}

func seenEvent(t testing.TB, event any) (s seenRequest) {
	var e struct {
		HTTPMethod, Path, RawPath, RawQueryString, Body, RouteKey, Resource string
		IsBase64Encoded                                                     bool
		Headers, QueryStringParameters, PathParameters                      map[string]string
		MultiValueHeaders, MultiValueQueryStringParameters                  map[string][]string
		Cookies                                                             []string
		RequestContext                                                      struct {
			HTTP  struct{ Method, Path string }
			Stage string
		}
	}
	check.Nil(t, convert(event, &e))
	s = seenRequest{
		Method: e.HTTPMethod + e.RequestContext.HTTP.Method, Path: e.Path + e.RequestContext.HTTP.Path, RawPath: e.RawPath,
		Query: e.RawQueryString, Body: plainBody(e.Body, e.IsBase64Encoded), Route: e.RouteKey + e.Resource,
		Stage: e.RequestContext.Stage, Parameter: e.PathParameters["id"],
		QueryStringParameters: e.QueryStringParameters, MultiValueQueryStringParameters: e.MultiValueQueryStringParameters,
	}
	s.Secrets = append(s.Secrets, e.Cookies...)
	s.Headers, s.MultiValueHeaders = without(e.Headers, &s.Secrets), without(e.MultiValueHeaders, &s.Secrets)
	return s
}

func resumableMiddleware(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, o *httpapi.Options) *resumable {
	h := &resumable{}
	mux := http.NewServeMux()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.Nil(t, err)
		check.Equal(t, r.ContentLength, int64(len(body)))
		s := seenRequest{Method: r.Method, Path: r.URL.Path, RawPath: r.URL.RawPath, Query: r.URL.RawQuery, Body: string(body), Stage: r.Host}
		s.MultiValueHeaders = without(r.Header, &s.Secrets)
		status, err := h.see(r.Context(), s)
		if err != nil {
			httpapi.Fail(w, r, err)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "done")
	})
	mux.Handle("/", httpapi.Middleware(x, scope, o)(handler))
	h.resumed = httpapi.Resumed(x, scope, handler, o)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r.WithContext(as(r.Context(), r.Header.Get("X-User"))))
	}))
	h.send = func(ctx context.Context, c httpCall) (httpReply, error) {
		c.headers = append(slices.Clone(c.headers), [2]string{"Cookie", "session=secret"})
		return sendTo(ctx, server, c)
	}
	return h
}

// deserted is a handler whose first process dies behind its effects.
type deserted struct {
	*resumable
	t      testing.TB
	kind   httpDriver
	x      *idempotent.Executor
	store  *hooked
	events []idempotent.Event
}

// desert sends the request of a client, and has its process die before it records the
// response: its record is in progress, and its lease has lapsed.
func (d *deserted) desert(c httpCall) httpReply {
	d.t.Helper()
	r, err := d.send(d.t.Context(), c)
	check.Must(d.t, err)
	d.store.plant(d.t, func(r *driver.Record) { r.Lease = driver.WholeMillis(time.Now().Add(-time.Hour)) })
	return r
}

func (d *deserted) resume() handlers.ResumeReport {
	d.t.Helper()
	report, err := handlers.Resume(d.resumed, nil)(d.t.Context(), handlers.ResumeEvent{})
	check.Must(d.t, err)
	report.Oldest = 0
	return report
}

// left reports the log line of a record that is not resumed.
func (d *deserted) left() string {
	d.t.Helper()
	var report handlers.ResumeReport
	lines := logged(d.t, func() { report = d.resume() })
	check.Equal(d.t, report, handlers.ResumeReport{Operation: "create-payment", Left: 1, Complete: true})
	check.Equal(d.t, len(lines), 1)
	text, _ := lines[0]["error"].(string)
	return text
}

func resumed(n int) handlers.ResumeReport {
	return handlers.ResumeReport{Operation: "create-payment", Resumed: n, Complete: true}
}

// forEachResumable runs a test with a handler behind each adapter.
func forEachResumable(t *testing.T, o *httpapi.Options, test func(t *testing.T, d *deserted)) {
	forEachHTTP(t, func(t *testing.T, kind httpDriver) {
		own := httpapi.Options{Resume: savingUser()}
		if o != nil {
			own = *o
		}
		test(t, newDeserted(t, kind, &own, idempotent.Config{}))
	})
}

func newDeserted(t testing.TB, kind httpDriver, o *httpapi.Options, config idempotent.Config) *deserted {
	d := &deserted{t: t, kind: kind, store: &hooked{Store: memory.New(0)}}
	config.Resume = true
	config.Observer = handlertest.Observer(func(e idempotent.Event) { d.events = append(d.events, e) })
	d.x = newExecutor(t, d.store, &config)
	d.resumable = kind.resumable(t, d.x, kind.scope(), o)
	return d
}

// payment is a request with credentials and all that is stored.
func payment(change ...func(*httpCall)) httpCall {
	c := keyed(`"k"`)
	c.headers = append(c.headers, [2]string{"Authorization", "Bearer secret"}, [2]string{"X-Listed", "a"}, [2]string{"X-Unlisted", "b"})
	for _, f := range change {
		f(&c)
	}
	return c
}

// lastValues is what a REST API makes of repeated parameters.
func lastValues(query url.Values) map[string]string {
	values := map[string]string{}
	for name := range query {
		values[name] = query[name][len(query[name])-1]
	}
	return values
}

// joinedValues is what an HTTP API makes of repeated parameters.
func joinedValues(query url.Values) map[string]string {
	joined := map[string]string{}
	for name, values := range query {
		joined[name] = strings.Join(values, ",")
	}
	return joined
}
