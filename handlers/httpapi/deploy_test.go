package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

func deployV2(_ testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
	handler := httpapi.APIGatewayV2(x, scope, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
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

func deployURL(_ testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
	handler := httpapi.FunctionURL(x, scope, func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
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

func deployREST(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
	handler := httpapi.APIGateway(x, scope, func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		r, err := work(ctx, plainBody(e.Body, e.IsBase64Encoded))
		body, encoded := encodedIfBinary(r.body)
		return events.APIGatewayProxyResponse{StatusCode: r.status, MultiValueHeaders: r.headers, Body: body, IsBase64Encoded: encoded}, err
	}, o)
	return func(ctx context.Context, c httpCall) (httpReply, error) {
		c = c.orDefaults()
		body, encoded := c.eventBody()
		multi, last := c.multiHeaders()
		query, err := url.ParseQuery(c.query)
		check.Nil(t, err)
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

func deployALB(multiValue bool) func(testing.TB, *idempotent.Executor, httpapi.Scope, httpWork, *httpapi.Options) httpEndpoint {
	return func(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
		handler := httpapi.ALB(x, scope, func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
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

func deployMiddleware(t testing.TB, x *idempotent.Executor, scope httpapi.Scope, work httpWork, o *httpapi.Options) httpEndpoint {
	protect := httpapi.Middleware(x, scope, o)
	server := httptest.NewServer(protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
