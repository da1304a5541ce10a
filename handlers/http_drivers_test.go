package handlers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// httpCall is a request that each adapter can be sent.
type httpCall struct {
	method  string // POST where it is ""
	path    string // as it is on the wire; /payments where it is ""
	query   string
	headers [][2]string
	body    string
	encoded string // base64 of the body, or what pretends to be
	user    string // as the adapter has identities; "" is none
}

// keyed is a call with the header in some spellings.
func keyed(keys ...string) httpCall {
	c := httpCall{body: `{"amount":1}`, user: "ada"}
	for _, key := range keys {
		c.headers = append(c.headers, [2]string{"Idempotency-Key", key})
	}
	return c
}

func (c httpCall) with(change func(*httpCall)) httpCall {
	c.headers = slices.Clone(c.headers)
	change(&c)
	return c
}

// httpReply is an answer, on the wire and of a handler.
type httpReply struct {
	status  int
	headers http.Header
	body    string
}

// httpEndpoint is a deployed handler. An error is the function's, or that of a
// cut connection; panicked is what Lambda would report as a crash.
type httpEndpoint func(ctx context.Context, c httpCall) (httpReply, error)

var errPanicked = errors.New("panicked")

type httpWork func(ctx context.Context, body string) (httpReply, error)

// httpDriver deploys a handler behind one adapter.
type httpDriver struct {
	name     string
	scope    func() handlers.Scope // of httpCall.user
	deploy   func(t testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint
	lambda   bool
	lastOnly bool // of repeated headers it sees the last one
	encodes  bool // bodies may come as base64
}

var httpDrivers = []httpDriver{
	{name: "APIGatewayV2", scope: func() handlers.Scope { return handlers.JWTClaim("sub") }, deploy: deployV2, lambda: true, encodes: true},
	{name: "APIGateway", scope: func() handlers.Scope { return handlers.JWTClaim("sub") }, deploy: deployREST, lambda: true, encodes: true},
	{name: "ALB", scope: headerScope, deploy: deployALB(false), lambda: true, lastOnly: true, encodes: true},
	{name: "ALB multi-value", scope: headerScope, deploy: deployALB(true), lambda: true, encodes: true},
	{name: "FunctionURL", scope: handlers.IAMUser, deploy: deployURL, lambda: true, encodes: true},
	{name: "Middleware", scope: headerScope, deploy: deployMiddleware},
}

// headerScope trusts a header, as a test may.
func headerScope() handlers.Scope {
	return handlers.ScopeFunc(func(_ context.Context, c handlers.Caller) (string, error) { return c.Headers.Get("X-User"), nil })
}

// invoke sends an event through the JSON and the reflection of the real
// runtime. Each call has a lambda.Handler of its own: those that run at once
// would share the buffers that its Invoke, unlike the runtime, answers from.
func invoke(ctx context.Context, handler, event any) (answer map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	out, err := lambda.NewHandler(handler).Invoke(ctx, payload)
	if err != nil {
		return nil, err
	}
	return answer, json.Unmarshal(out, &answer)
}

func (c httpCall) eventBody() (string, bool) {
	if c.encoded != "" {
		return c.encoded, true
	}
	return c.body, false
}

// joinedHeaders is what gateways of the payload format 2.0 make of them.
func (c httpCall) joinedHeaders() map[string]string {
	m := map[string]string{"content-type": "application/json"}
	for _, h := range c.headers {
		name := strings.ToLower(h[0])
		if old, ok := m[name]; ok {
			m[name] = old + "," + h[1]
		} else {
			m[name] = h[1]
		}
	}
	return m
}

func (c httpCall) multiHeaders() (multi map[string][]string, last map[string]string) {
	multi, last = map[string][]string{"Content-Type": {"application/json"}}, map[string]string{"Content-Type": "application/json"}
	for _, h := range c.headers {
		multi[h[0]], last[h[0]] = append(multi[h[0]], h[1]), h[1]
	}
	return multi, last
}

func (c httpCall) orDefaults() httpCall {
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.path == "" {
		c.path = "/payments"
	}
	return c
}

func parseWire(out []byte) (httpReply, error) {
	var answer map[string]any
	if err := json.Unmarshal(out, &answer); err != nil {
		return httpReply{}, err
	}
	return wire(answer)
}

// wire reads an answer as a gateway does.
func wire(answer map[string]any) (httpReply, error) {
	r := httpReply{headers: http.Header{}}
	if status, ok := answer["statusCode"].(float64); ok {
		r.status = int(status)
	}
	r.body, _ = answer["body"].(string)
	if encoded, _ := answer["isBase64Encoded"].(bool); encoded {
		body, err := base64.StdEncoding.DecodeString(r.body)
		if err != nil {
			return r, err
		}
		r.body = string(body)
	}
	multi, _ := answer["multiValueHeaders"].(map[string]any)
	for name, values := range multi {
		for _, v := range values.([]any) {
			r.headers.Add(name, v.(string))
		}
	}
	single, _ := answer["headers"].(map[string]any)
	for name, v := range single {
		if r.headers.Get(name) == "" {
			r.headers.Set(name, v.(string))
		}
	}
	cookies, _ := answer["cookies"].([]any)
	for _, v := range cookies {
		r.headers.Add("Set-Cookie", v.(string))
	}
	return r, nil
}

// first gives a handler's headers to the formats that have one value for each.
func first(h http.Header) map[string]string {
	m := map[string]string{}
	for name, values := range h {
		if name != "Set-Cookie" {
			m[name] = values[0]
		}
	}
	return m
}

func encodedIfBinary(body string) (string, bool) {
	if strings.ContainsRune(body, 0xFFFD) {
		return base64.StdEncoding.EncodeToString([]byte(body)), true
	}
	return body, false
}

func plainBody(body string, encoded bool) string {
	if plain, err := base64.StdEncoding.DecodeString(body); encoded && err == nil {
		return string(plain)
	}
	return body
}

func deployV2(_ testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint {
	handler := handlers.APIGatewayV2(x, scope, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		r, err := work(ctx, plainBody(e.Body, e.IsBase64Encoded))
		body, encoded := encodedIfBinary(r.body)
		return events.APIGatewayV2HTTPResponse{StatusCode: r.status, Headers: first(r.headers), Cookies: r.headers["Set-Cookie"], Body: body, IsBase64Encoded: encoded}, err
	}, o)
	return func(ctx context.Context, c httpCall) (httpReply, error) {
		c = c.orDefaults()
		body, encoded := c.eventBody()
		event := map[string]any{
			"version": "2.0", "routeKey": "$default", "rawPath": c.path, "rawQueryString": c.query, "headers": c.joinedHeaders(),
			"requestContext": map[string]any{"http": map[string]any{"method": c.method, "path": c.path}, "authorizer": jwt(c.user)},
			"body":           body, "isBase64Encoded": encoded,
		}
		answer, err := invoke(ctx, handler, event)
		if err != nil {
			return httpReply{}, err
		}
		return wire(answer)
	}
}

func jwt(user string) any {
	if user == "" {
		return nil
	}
	return map[string]any{"jwt": map[string]any{"claims": map[string]string{"sub": user}}}
}

func deployURL(_ testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint {
	handler := handlers.FunctionURL(x, scope, func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		r, err := work(ctx, plainBody(e.Body, e.IsBase64Encoded))
		body, encoded := encodedIfBinary(r.body)
		return events.LambdaFunctionURLResponse{StatusCode: r.status, Headers: first(r.headers), Cookies: r.headers["Set-Cookie"], Body: body, IsBase64Encoded: encoded}, err
	}, o)
	return func(ctx context.Context, c httpCall) (httpReply, error) {
		c = c.orDefaults()
		body, encoded := c.eventBody()
		request := map[string]any{"http": map[string]any{"method": c.method, "path": c.path}}
		if c.user != "" {
			request["authorizer"] = map[string]any{"iam": map[string]any{"userArn": "arn:aws:iam::111122223333:user/" + c.user}}
		}
		answer, err := invoke(ctx, handler, map[string]any{
			"version": "2.0", "rawPath": c.path, "rawQueryString": c.query, "headers": c.joinedHeaders(),
			"requestContext": request, "body": body, "isBase64Encoded": encoded,
		})
		if err != nil {
			return httpReply{}, err
		}
		return wire(answer)
	}
}

func deployREST(t testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint {
	handler := handlers.APIGateway(x, scope, func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		r, err := work(ctx, plainBody(e.Body, e.IsBase64Encoded))
		body, encoded := encodedIfBinary(r.body)
		return events.APIGatewayProxyResponse{StatusCode: r.status, MultiValueHeaders: r.headers, Body: body, IsBase64Encoded: encoded}, err
	}, o)
	return func(ctx context.Context, c httpCall) (httpReply, error) {
		c = c.orDefaults()
		body, encoded := c.eventBody()
		multi, last := c.multiHeaders()
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Error(err)
		}
		request := map[string]any{"httpMethod": c.method, "path": c.path, "resourcePath": "/{proxy+}"}
		if c.user != "" {
			request["authorizer"] = map[string]any{"claims": map[string]any{"sub": c.user}}
		}
		answer, err := invoke(ctx, handler, map[string]any{
			"resource": "/{proxy+}", "path": c.path, "httpMethod": c.method, "headers": last, "multiValueHeaders": multi,
			"queryStringParameters": first(http.Header(query)), "multiValueQueryStringParameters": query,
			"requestContext": request, "body": body, "isBase64Encoded": encoded,
		})
		if err != nil {
			return httpReply{}, err
		}
		return wire(answer)
	}
}

func deployALB(multiValue bool) func(testing.TB, *idempotent.Executor, handlers.Scope, httpWork, *handlers.HTTPOptions) httpEndpoint {
	return func(t testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint {
		handler := handlers.ALB(x, scope, func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			r, err := work(ctx, plainBody(e.Body, e.IsBase64Encoded))
			body, encoded := encodedIfBinary(r.body)
			answer := events.ALBTargetGroupResponse{StatusCode: r.status, Body: body, IsBase64Encoded: encoded}
			if multiValue {
				answer.MultiValueHeaders = r.headers
			} else {
				answer.Headers = first(r.headers)
				if cookies := r.headers["Set-Cookie"]; len(cookies) > 0 {
					answer.Headers["Set-Cookie"] = cookies[len(cookies)-1]
				}
			}
			return answer, err
		}, o)
		return func(ctx context.Context, c httpCall) (httpReply, error) {
			c = c.orDefaults()
			body, encoded := c.eventBody()
			multi, last := c.multiHeaders()
			if c.user != "" {
				multi["x-user"], last["x-user"] = []string{c.user}, c.user
			}
			query := http.Header{}
			for pair := range strings.SplitSeq(c.query, "&") {
				if name, value, _ := strings.Cut(pair, "="); pair != "" {
					query[name] = append(query[name], value) // as they are on the wire
				}
			}
			event := map[string]any{
				"requestContext": map[string]any{"elb": map[string]any{"targetGroupArn": "arn"}},
				"path":           c.path, "httpMethod": c.method, "body": body, "isBase64Encoded": encoded,
			}
			if multiValue {
				event["multiValueHeaders"], event["multiValueQueryStringParameters"] = multi, query
			} else {
				event["headers"], event["queryStringParameters"] = last, first(query)
			}
			answer, err := invoke(ctx, handler, event)
			if err != nil {
				return httpReply{}, err
			}
			if one, other := answer["headers"] != nil, answer["multiValueHeaders"] != nil; multiValue && one || !multiValue && other {
				t.Errorf("the answer's headers are not where the request's are: %v", answer)
			}
			return wire(answer)
		}
	}
}

func deployMiddleware(t testing.TB, x *idempotent.Executor, scope handlers.Scope, work httpWork, o *handlers.HTTPOptions) httpEndpoint {
	protect := handlers.Middleware(x, scope, o)
	server := httptest.NewServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		reply, err := work(r.Context(), string(body))
		if err != nil {
			t.Error("a handler of net/http has no error to return")
		}
		for name, values := range reply.headers {
			w.Header()[name] = values
		}
		w.WriteHeader(reply.status)
		_, _ = io.WriteString(w, reply.body)
	})))
	server.Config.ErrorLog = silent()
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, c httpCall) (httpReply, error) {
		c = c.orDefaults()
		r, err := http.NewRequestWithContext(ctx, c.method, server.URL, strings.NewReader(c.body))
		if err != nil {
			return httpReply{}, err
		}
		r.URL.Opaque, r.URL.RawQuery = "//"+r.URL.Host+c.path, c.query
		r.Header.Set("Content-Type", "application/json")
		for _, h := range c.headers {
			r.Header.Add(h[0], h[1])
		}
		if c.user != "" {
			r.Header.Set("X-User", c.user)
		}
		answer, err := client.Do(r)
		if err != nil {
			return httpReply{}, err
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(answer.Body)
		return httpReply{answer.StatusCode, answer.Header, body.String()}, errors.Join(err, answer.Body.Close())
	}
}
