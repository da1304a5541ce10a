package handlers

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// FunctionURL protects a handler of a function URL in the mode BUFFERED; the
// answers of RESPONSE_STREAM are readers, which cannot be stored, and their
// type is not taken here. A URL with the AuthType NONE has no identity: its
// scope is [NoIdentity], or what a [ScopeFunc] verifies by itself. Otherwise
// it is as [APIGatewayV2].
func FunctionURL(x *idempotent.Executor, scope Scope, fn func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error), o *HTTPOptions) func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return httpEvents[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
		name: "FunctionURL", source: sourceFunctionURL,
		method:   func(e *events.LambdaFunctionURLRequest) string { return e.RequestContext.HTTP.Method },
		request:  requestURL,
		response: responseURL,
		answer:   answerURL,
	}.protect(x, scope, fn, o)
}

func requestURL(e *events.LambdaFunctionURLRequest) *httpRequest {
	r := &httpRequest{path: e.RawPath, query: rawQuery(e.RawQueryString)}
	r.caller.Headers = eventHeaders(nil, e.Headers)
	if len(e.Cookies) > 0 { // the event has taken them out
		r.caller.Headers.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		r.caller.UserARN = a.IAM.UserARN
	}
	r.setBody(e.Body, e.IsBase64Encoded)
	return r
}

func responseURL(e *events.LambdaFunctionURLResponse) httpResponse {
	headers := eventHeaders(nil, e.Headers)
	if len(e.Cookies) > 0 {
		headers[setCookie] = append(headers[setCookie], e.Cookies...)
	}
	return httpResponse{Status: e.StatusCode, Headers: headers, Body: e.Body, Base64: e.IsBase64Encoded}
}

func answerURL(_ *events.LambdaFunctionURLRequest, r httpResponse) events.LambdaFunctionURLResponse {
	r, cookies := r.withoutCookies()
	return events.LambdaFunctionURLResponse{
		StatusCode: r.Status, Headers: r.joined(), Cookies: cookies, Body: r.Body, IsBase64Encoded: r.Base64,
	}
}
