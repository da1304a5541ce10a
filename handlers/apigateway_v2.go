package handlers

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// APIGatewayV2 protects a handler of an HTTP API of API Gateway, payload
// format 2.0. For the format 1.0 take [APIGateway]. The first caller gets the
// handler's answer as it is, and every repetition the stored one.
//
// An error of the handler releases the key and goes to Lambda as it is, and so
// does a panic. One that is marked [idempotent.Permanent] is stored: every
// repetition fails with it until the retention ends, under the type of the
// first, as a messages.InvokeResponse_Error. A [*StatusError] is answered
// instead, with its status.
func APIGatewayV2(x *idempotent.Executor, scope Scope, fn func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error), o *HTTPOptions) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return httpEvents[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]{
		name: "APIGatewayV2", source: sourceAPIGatewayV2,
		method:   func(e *events.APIGatewayV2HTTPRequest) string { return e.RequestContext.HTTP.Method },
		request:  requestV2,
		response: responseV2,
		answer:   answerV2,
	}.protect(x, scope, fn, o)
}

func requestV2(e *events.APIGatewayV2HTTPRequest) *httpRequest {
	r := &httpRequest{path: e.RawPath, query: rawQuery(e.RawQueryString)}
	r.caller.Headers = eventHeaders(nil, e.Headers)
	if len(e.Cookies) > 0 { // the event has taken them out
		r.caller.Headers.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	if a := e.RequestContext.Authorizer; a != nil {
		r.caller.Authorizer = a.Lambda
		if a.JWT != nil {
			r.caller.Claims = make(map[string]any, len(a.JWT.Claims))
			for name, value := range a.JWT.Claims {
				r.caller.Claims[name] = value
			}
		}
		if a.IAM != nil {
			r.caller.UserARN, r.caller.CognitoIdentityID = a.IAM.UserARN, a.IAM.CognitoIdentity.IdentityID
		}
	}
	r.setBody(e.Body, e.IsBase64Encoded)
	return r
}

func responseV2(e *events.APIGatewayV2HTTPResponse) httpResponse {
	headers := eventHeaders(e.MultiValueHeaders, e.Headers)
	if len(e.Cookies) > 0 {
		headers[setCookie] = append(headers[setCookie], e.Cookies...)
	}
	return httpResponse{Status: e.StatusCode, Headers: headers, Body: e.Body, Base64: e.IsBase64Encoded}
}

func answerV2(_ *events.APIGatewayV2HTTPRequest, r httpResponse) events.APIGatewayV2HTTPResponse {
	r, cookies := r.withoutCookies()
	return events.APIGatewayV2HTTPResponse{
		StatusCode: r.Status, Headers: r.joined(), Cookies: cookies, Body: r.Body, IsBase64Encoded: r.Base64,
	}
}
