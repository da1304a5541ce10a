package httpapi

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// APIGatewayV2 protects a handler of an HTTP API of API Gateway, payload format
// 2.0. For the format 1.0 use [APIGateway]. The first client receives the
// handler's response itself, and every repetition the stored one.
//
// An error or a panic of the handler releases the key and goes to Lambda
// unchanged. An [idempotent.Permanent] error is stored: every repetition fails
// with it until the retention ends, under the type of the first, as a
// messages.InvokeResponse_Error. A [*StatusError] becomes a response with its
// status.
func APIGatewayV2(x *idempotent.Executor, scope Scope, fn func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error), o *Options) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return eventAdapter[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]{
		name: "APIGatewayV2", source: sourceAPIGatewayV2,
		method:  func(e *events.APIGatewayV2HTTPRequest) string { return e.RequestContext.HTTP.Method },
		request: requestV2,
		response: func(e *events.APIGatewayV2HTTPResponse) httpResponse {
			return eventResponse(e.StatusCode, eventHeaders(e.MultiValueHeaders, e.Headers), e.Cookies, e.Body, e.IsBase64Encoded)
		},
		respond: respondV2,
	}.protect(x, scope, fn, o)
}

func requestV2(e *events.APIGatewayV2HTTPRequest) *incoming {
	var caller Caller
	if a := e.RequestContext.Authorizer; a != nil {
		caller.Authorizer = a.Lambda
		if a.JWT != nil {
			caller.Claims = make(map[string]any, len(a.JWT.Claims))
			for name, value := range a.JWT.Claims {
				caller.Claims[name] = value
			}
		}
		if a.IAM != nil {
			caller.UserARN, caller.CognitoIdentityID = a.IAM.UserARN, a.IAM.CognitoIdentity.IdentityID
		}
	}
	query := rawQuery(e.RawQueryString)
	r := eventRequest(caller, e.RawPath, query, eventHeaders(nil, e.Headers), e.Cookies, e.Body, e.IsBase64Encoded)
	r.rawQuery, r.sent = e.RawQueryString, sent{Route: e.RouteKey, Parameters: e.PathParameters, Stage: e.RequestContext.Stage}
	return r
}

func respondV2(_ *events.APIGatewayV2HTTPRequest, r httpResponse) events.APIGatewayV2HTTPResponse {
	headers, cookies := r.joinedAndCookies()
	return events.APIGatewayV2HTTPResponse{
		StatusCode: r.Status, Headers: headers, Cookies: cookies, Body: r.Body, IsBase64Encoded: r.Base64,
	}
}

// FunctionURL protects a handler of a function URL in the mode BUFFERED. It does
// not take the responses of RESPONSE_STREAM, which are readers and cannot be
// stored. A URL with the AuthType NONE has no identity: its scope is
// [NoIdentity], or a [ScopeFunc] that verifies the caller itself. Everything else is as in
// [APIGatewayV2].
func FunctionURL(x *idempotent.Executor, scope Scope, fn func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error), o *Options) func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return eventAdapter[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
		name: "FunctionURL", source: sourceFunctionURL,
		method:  func(e *events.LambdaFunctionURLRequest) string { return e.RequestContext.HTTP.Method },
		request: requestURL,
		response: func(e *events.LambdaFunctionURLResponse) httpResponse {
			return eventResponse(e.StatusCode, eventHeaders(nil, e.Headers), e.Cookies, e.Body, e.IsBase64Encoded)
		},
		respond: respondURL,
	}.protect(x, scope, fn, o)
}

func requestURL(e *events.LambdaFunctionURLRequest) *incoming {
	var caller Caller
	if a := e.RequestContext.Authorizer; a != nil && a.IAM != nil {
		caller.UserARN = a.IAM.UserARN
	}
	query := rawQuery(e.RawQueryString)
	r := eventRequest(caller, e.RawPath, query, eventHeaders(nil, e.Headers), e.Cookies, e.Body, e.IsBase64Encoded)
	r.rawQuery = e.RawQueryString
	return r
}

func respondURL(_ *events.LambdaFunctionURLRequest, r httpResponse) events.LambdaFunctionURLResponse {
	headers, cookies := r.joinedAndCookies()
	return events.LambdaFunctionURLResponse{
		StatusCode: r.Status, Headers: headers, Cookies: cookies, Body: r.Body, IsBase64Encoded: r.Base64,
	}
}
