package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// protection is a function of the package that protects a handler of events.
type protection[Req, Resp any] = func(*idempotent.Executor, httpapi.Scope, func(context.Context, Req) (Resp, error), *httpapi.Options) func(context.Context, Req) (Resp, error)

// deployment returns a handler behind an adapter. The request and the response become
// events as JSON, of which event and respond make all members but the body and status.
func deployment[Req, Resp any](protect protection[Req, Resp], event func(t testing.TB, c httpCall) map[string]any, respond func(headers http.Header, response map[string]any)) func(testing.TB, *idempotent.Executor, httpapi.Scope, httpWork, *httpapi.Options) httpEndpoint {
	return func(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
		handler := protect(x, scope, func(ctx context.Context, e Req) (response Resp, _ error) {
			var request struct {
				Body            string
				IsBase64Encoded bool
			}
			check.Nil(t, convert(e, &request))
			r, err := work(ctx, plainBody(request.Body, request.IsBase64Encoded))
			body, encoded := encodedIfBinary(r.body)
			members := map[string]any{"statusCode": r.status, "body": body, "isBase64Encoded": encoded}
			respond(r.headers, members)
			check.Nil(t, convert(members, &response))
			return response, err
		}, o)
		return func(ctx context.Context, c httpCall) (httpReply, error) {
			c = c.orDefaults()
			members := event(t, c)
			members["body"], members["isBase64Encoded"] = c.eventBody()
			answer, err := invoke(ctx, handler, members)
			if err != nil {
				return httpReply{}, err
			}
			for _, kind := range []string{"headers", "multiValueHeaders"} {
				check.False(t, members[kind] == nil && answer[kind] != nil, "the request has no", kind)
			}
			return wire(answer)
		}
	}
}

func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

var (
	payloadJWT = payloadV2(func(user string) map[string]any {
		return map[string]any{"jwt": map[string]any{"claims": map[string]string{"sub": user}}}
	})
	payloadIAM = payloadV2(func(user string) map[string]any {
		return map[string]any{"iam": map[string]any{"userArn": "arn:aws:iam::111122223333:user/" + user}}
	})
	deployV2       = deployment(httpapi.APIGatewayV2, payloadJWT, respondCookies)
	deployURL      = deployment(httpapi.FunctionURL, payloadIAM, respondCookies)
	deployREST     = deployment(httpapi.APIGateway, payloadREST, respondMulti)
	deployALB      = deployment(httpapi.ALB, payloadALB("headers", "queryStringParameters"), respondSingle)
	deployALBMulti = deployment(httpapi.ALB, payloadALB("multiValueHeaders", "multiValueQueryStringParameters"), respondMulti)
)

func respondMulti(headers http.Header, response map[string]any) {
	response["multiValueHeaders"] = headers
}

func respondCookies(headers http.Header, response map[string]any) {
	response["headers"], response["cookies"] = first(headers), headers["Set-Cookie"]
}

// respondSingle has a place for one cookie.
func respondSingle(headers http.Header, response map[string]any) {
	single := first(headers)
	if cookies := headers["Set-Cookie"]; len(cookies) > 0 {
		single["Set-Cookie"] = cookies[len(cookies)-1]
	}
	response["headers"] = single
}

// payloadV2 makes an event of the payload format 2.0.
func payloadV2(authorizer func(user string) map[string]any) func(testing.TB, httpCall) map[string]any {
	return func(_ testing.TB, c httpCall) map[string]any {
		request := map[string]any{"http": map[string]any{"method": c.method, "path": c.path}}
		if c.user != "" {
			request["authorizer"] = authorizer(c.user)
		}
		return map[string]any{"version": "2.0", "routeKey": "$default", "rawPath": c.path, "rawQueryString": c.query, "headers": c.joinedHeaders(), "requestContext": request}
	}
}

func payloadREST(t testing.TB, c httpCall) map[string]any {
	multi, last := c.multiHeaders()
	query, err := url.ParseQuery(c.query)
	check.Nil(t, err)
	request := map[string]any{"httpMethod": c.method, "path": c.path, "resourcePath": "/{proxy+}"}
	if c.user != "" {
		request["authorizer"] = map[string]any{"claims": map[string]any{"sub": c.user}}
	}
	return map[string]any{
		"resource": "/{proxy+}", "path": c.path, "httpMethod": c.method, "headers": last, "multiValueHeaders": multi,
		"queryStringParameters": first(http.Header(query)), "multiValueQueryStringParameters": query, "requestContext": request,
	}
}

// payloadALB makes an event of a load balancer with these members.
func payloadALB(headers, parameters string) func(testing.TB, httpCall) map[string]any {
	return func(_ testing.TB, c httpCall) map[string]any {
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
		members := map[string]any{
			"headers": last, "multiValueHeaders": multi, "queryStringParameters": first(query), "multiValueQueryStringParameters": query,
		}
		return map[string]any{
			"requestContext": map[string]any{"elb": map[string]any{"targetGroupArn": "arn"}},
			"path":           c.path, "httpMethod": c.method, headers: members[headers], parameters: members[parameters],
		}
	}
}

func deployMiddleware(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
	protect := httpapi.Middleware(x, scope, o)
	server := serve(t, protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check.Nil(t, err)
		reply, err := work(r.Context(), string(body))
		if err != nil {
			_, _ = io.WriteString(w, "what was begun")
			httpapi.Fail(w, r, err)
			return
		}
		for name, values := range reply.headers {
			w.Header()[name] = values
		}
		w.WriteHeader(reply.status)
		_, _ = io.WriteString(w, reply.body)
	})))
	server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, c httpCall) (httpReply, error) { return sendTo(ctx, server, c) }
}

// sendTo sends a call to a server of net/http.
func sendTo(ctx context.Context, server *httptest.Server, c httpCall) (httpReply, error) {
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
	answer, err := server.Client().Do(r)
	if err != nil {
		return httpReply{}, err
	}
	body, err := io.ReadAll(answer.Body)
	return httpReply{answer.StatusCode, answer.Header, string(body)}, errors.Join(err, answer.Body.Close())
}
