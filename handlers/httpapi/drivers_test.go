package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/httpapi"
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

// httpReply is a response, on the wire and of a handler.
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
	name      string
	scope     func() httpapi.Scope // of httpCall.user
	deploy    func(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint
	resumable resumableHandler
	lambda    bool
	lastOnly  bool // of repeated headers it sees the last one
	encodes   bool // bodies may come as base64
}

var httpDrivers = []httpDriver{
	{name: "APIGatewayV2", scope: func() httpapi.Scope { return httpapi.JWTClaim("sub") }, deploy: deployV2, resumable: resumableEvents(httpapi.APIGatewayV2, payloadJWT), lambda: true, encodes: true},
	{name: "APIGateway", scope: func() httpapi.Scope { return httpapi.JWTClaim("sub") }, deploy: deployREST, resumable: resumableEvents(httpapi.APIGateway, payloadREST), lambda: true, encodes: true},
	{name: "ALB", scope: headerScope, deploy: deployALB, resumable: resumableEvents(httpapi.ALB, payloadALB("headers", "queryStringParameters")), lambda: true, lastOnly: true, encodes: true},
	{name: "ALB multi-value", scope: headerScope, deploy: deployALBMulti, resumable: resumableEvents(httpapi.ALB, payloadALB("multiValueHeaders", "multiValueQueryStringParameters")), lambda: true, encodes: true},
	{name: "FunctionURL", scope: httpapi.IAMUser, deploy: deployURL, resumable: resumableEvents(httpapi.FunctionURL, payloadIAM), lambda: true, encodes: true},
	{name: "Middleware", scope: headerScope, deploy: deployMiddleware, resumable: resumableMiddleware},
}

// headerScope trusts a header, as a test may.
func headerScope() httpapi.Scope {
	return httpapi.ScopeFunc(func(_ context.Context, c httpapi.Caller) (string, error) { return c.Headers.Get("X-User"), nil })
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

// wire reads a response as a gateway does.
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

// first returns the first value of each of a handler's headers.
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
