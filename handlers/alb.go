package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// ALB protects a handler behind an Application Load Balancer. Its events hold
// no identity that was checked: the scope is [NoIdentity], [Tenant], or what a
// [ScopeFunc] verifies by itself. Our answers have their headers in the map in
// which the request has its own, as a target group takes them from no other.
// Otherwise it is as [APIGatewayV2].
//
// Without multi-value headers, a load balancer passes on the last one only of
// repeated headers and parameters: that a request has two keys is not seen.
func ALB(x *idempotent.Executor, scope Scope, fn func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error), o *HTTPOptions) func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	return httpEvents[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]{
		name: "ALB", source: sourceALB,
		method:   func(e *events.ALBTargetGroupRequest) string { return e.HTTPMethod },
		request:  requestALB,
		response: responseALB,
		answer:   answerALB,
	}.protect(x, scope, fn, o)
}

func requestALB(e *events.ALBTargetGroupRequest) *httpRequest {
	r := &httpRequest{
		path:  e.Path,
		query: mapQuery(e.MultiValueQueryStringParameters, e.QueryStringParameters, url.QueryUnescape),
	}
	r.caller.Headers = eventHeaders(e.MultiValueHeaders, e.Headers)
	r.setBody(e.Body, e.IsBase64Encoded)
	return r
}

func responseALB(e *events.ALBTargetGroupResponse) httpResponse {
	return httpResponse{
		Status: e.StatusCode, Headers: eventHeaders(e.MultiValueHeaders, e.Headers), Body: e.Body, Base64: e.IsBase64Encoded,
	}
}

func answerALB(e *events.ALBTargetGroupRequest, r httpResponse) events.ALBTargetGroupResponse {
	answer := events.ALBTargetGroupResponse{
		StatusCode:        r.Status,
		StatusDescription: strconv.Itoa(r.Status) + " " + http.StatusText(r.Status),
		Body:              r.Body, IsBase64Encoded: r.Base64,
	}
	if e.MultiValueHeaders != nil {
		answer.MultiValueHeaders = r.Headers
	} else {
		answer.Headers = r.joined()
	}
	return answer
}
