package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// ALB protects a handler behind an Application Load Balancer. Its events contain
// no verified identity: the scope is [NoIdentity], [Tenant], or a
// [ScopeFunc] that verifies the caller itself. Responses of Once have their headers in the map
// in which the request has its own, because a target group reads no other.
// Everything else is as in [APIGatewayV2].
//
// Without multi-value headers, a load balancer passes on only the last of
// repeated headers and parameters, so ALB cannot see that a request has two
// keys.
func ALB(x *idempotent.Executor, scope Scope, fn func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error), o *Options) func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	return eventAdapter[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]{
		name: "ALB", source: sourceALB,
		method:  func(e *events.ALBTargetGroupRequest) string { return e.HTTPMethod },
		request: requestALB,
		response: func(e *events.ALBTargetGroupResponse) httpResponse {
			return eventResponse(e.StatusCode, eventHeaders(e.MultiValueHeaders, e.Headers), nil, e.Body, e.IsBase64Encoded)
		},
		respond: respondALB,
	}.protect(x, scope, fn, o)
}

func requestALB(e *events.ALBTargetGroupRequest) *incoming {
	query := queryValues(e.MultiValueQueryStringParameters, e.QueryStringParameters)
	r := eventRequest(Caller{}, e.Path, mapQuery(query, url.QueryUnescape), eventHeaders(e.MultiValueHeaders, e.Headers), nil, e.Body, e.IsBase64Encoded)
	r.sent.Query = query
	return r
}

func respondALB(e *events.ALBTargetGroupRequest, r httpResponse) events.ALBTargetGroupResponse {
	response := events.ALBTargetGroupResponse{
		StatusCode:        r.Status,
		StatusDescription: strconv.Itoa(r.Status) + " " + http.StatusText(r.Status),
		Body:              r.Body, IsBase64Encoded: r.Base64,
	}
	if e.MultiValueHeaders != nil {
		response.MultiValueHeaders = r.Headers
	} else {
		response.Headers = r.joined()
	}
	return response
}
