package httpapi

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// APIGateway protects a handler of a REST API of API Gateway, or of an HTTP API
// with the payload format 1.0. It does not take streaming responses, which are
// readers and cannot be stored. Everything else is as in [APIGatewayV2].
func APIGateway(x *idempotent.Executor, scope Scope, fn func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error), o *Options) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return eventAdapter[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
		name: "APIGateway", source: sourceAPIGateway,
		method:  func(e *events.APIGatewayProxyRequest) string { return e.HTTPMethod },
		request: requestREST,
		response: func(e *events.APIGatewayProxyResponse) httpResponse {
			return eventResponse(e.StatusCode, eventHeaders(e.MultiValueHeaders, e.Headers), nil, e.Body, e.IsBase64Encoded)
		},
		respond: respondREST,
	}.protect(x, scope, fn, o)
}

func requestREST(e *events.APIGatewayProxyRequest) *incoming {
	claims, _ := e.RequestContext.Authorizer["claims"].(map[string]any) // nil without a Cognito authorizer
	caller := Caller{
		Claims:            claims,
		Authorizer:        e.RequestContext.Authorizer,
		UserARN:           e.RequestContext.Identity.UserArn,
		CognitoIdentityID: e.RequestContext.Identity.CognitoIdentityID,
		APIKeyID:          e.RequestContext.Identity.APIKeyID,
	}
	// API Gateway has decoded the query.
	query := queryValues(e.MultiValueQueryStringParameters, e.QueryStringParameters)
	r := eventRequest(caller, e.Path, mapQuery(query, verbatim), eventHeaders(e.MultiValueHeaders, e.Headers), nil, e.Body, e.IsBase64Encoded)
	r.sent = sent{Query: query, Route: e.Resource, Parameters: e.PathParameters, Stage: e.RequestContext.Stage}
	return r
}

// respondREST sets each field once, in the map that can hold its values.
func respondREST(_ *events.APIGatewayProxyRequest, r httpResponse) events.APIGatewayProxyResponse {
	response := events.APIGatewayProxyResponse{
		StatusCode: r.Status, Headers: map[string]string{}, Body: r.Body, IsBase64Encoded: r.Base64,
	}
	for name, values := range r.Headers {
		switch len(values) {
		case 0:
		case 1:
			response.Headers[name] = values[0]
		default:
			if response.MultiValueHeaders == nil {
				response.MultiValueHeaders = map[string][]string{}
			}
			response.MultiValueHeaders[name] = values
		}
	}
	return response
}
