package httpapi

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi/internal/httpmsg"
	"github.com/lambda-once/once/idempotent"
)

// FunctionURL protects a handler of a function URL in the mode BUFFERED. It does
// not take the responses of RESPONSE_STREAM, which are readers and cannot be
// stored. A URL with the AuthType NONE has no identity: its scope is
// [NoIdentity], or a [ScopeFunc] that verifies the caller itself. Everything else is as in
// [APIGatewayV2].
func FunctionURL(x *idempotent.Executor, scope Scope, fn func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error), o *Options) func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return eventAdapter[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
		name: "FunctionURL", source: sourceFunctionURL,
		method:   func(e *events.LambdaFunctionURLRequest) string { return e.RequestContext.HTTP.Method },
		request:  requestURL,
		response: responseURL,
		respond:  respondURL,
	}.protect(x, scope, fn, o)
}

func requestURL(e *events.LambdaFunctionURLRequest) *incoming {
	var caller Caller
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		caller.UserARN = a.IAM.UserARN
	}
	headers := httpmsg.WithCookies(httpmsg.Headers(nil, e.Headers), e.Cookies)
	return eventRequest(caller, e.RawPath, httpmsg.RawQuery(e.RawQueryString), headers, e.Body, e.IsBase64Encoded)
}

func responseURL(e *events.LambdaFunctionURLResponse) httpmsg.Response {
	headers := httpmsg.WithSetCookies(httpmsg.Headers(nil, e.Headers), e.Cookies)
	return httpmsg.Response{Status: e.StatusCode, Headers: headers, Body: e.Body, Base64: e.IsBase64Encoded}
}

func respondURL(_ *events.LambdaFunctionURLRequest, r httpmsg.Response) events.LambdaFunctionURLResponse {
	headers, cookies := r.JoinedAndCookies()
	return events.LambdaFunctionURLResponse{
		StatusCode: r.Status, Headers: headers, Cookies: cookies, Body: r.Body, IsBase64Encoded: r.Base64,
	}
}
