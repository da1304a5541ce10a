package handlers

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// APIGateway protects a handler of a REST API of API Gateway, or of an HTTP
// API with the payload format 1.0. Answers that are streamed are readers,
// which cannot be stored, and their type is not taken here. Otherwise it is as
// [APIGatewayV2].
func APIGateway(x *idempotent.Executor, scope Scope, fn func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error), o *HTTPOptions) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return httpEvents[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
		name: "APIGateway", source: sourceAPIGateway,
		method:   func(e *events.APIGatewayProxyRequest) string { return e.HTTPMethod },
		request:  requestREST,
		response: responseREST,
		answer:   answerREST,
	}.protect(x, scope, fn, o)
}

func requestREST(e *events.APIGatewayProxyRequest) *httpRequest {
	r := &httpRequest{
		path: e.Path,
		// API Gateway has decoded these.
		query: mapQuery(e.MultiValueQueryStringParameters, e.QueryStringParameters, verbatim),
	}
	claims, _ := e.RequestContext.Authorizer["claims"].(map[string]any) // nil: there is no Cognito authorizer
	r.caller = Caller{
		Claims:            claims,
		Authorizer:        e.RequestContext.Authorizer,
		UserARN:           e.RequestContext.Identity.UserArn,
		CognitoIdentityID: e.RequestContext.Identity.CognitoIdentityID,
		APIKeyID:          e.RequestContext.Identity.APIKeyID,
		Headers:           eventHeaders(e.MultiValueHeaders, e.Headers),
	}
	r.setBody(e.Body, e.IsBase64Encoded)
	return r
}

func responseREST(e *events.APIGatewayProxyResponse) httpResponse {
	return httpResponse{
		Status: e.StatusCode, Headers: eventHeaders(e.MultiValueHeaders, e.Headers), Body: e.Body, Base64: e.IsBase64Encoded,
	}
}

// answerREST names each field once, in the map that can hold its values.
func answerREST(_ *events.APIGatewayProxyRequest, r httpResponse) events.APIGatewayProxyResponse {
	answer := events.APIGatewayProxyResponse{
		StatusCode: r.Status, Headers: map[string]string{}, Body: r.Body, IsBase64Encoded: r.Base64,
	}
	for name, values := range r.Headers {
		switch len(values) {
		case 0:
		case 1:
			answer.Headers[name] = values[0]
		default:
			if answer.MultiValueHeaders == nil {
				answer.MultiValueHeaders = map[string][]string{}
			}
			answer.MultiValueHeaders[name] = values
		}
	}
	return answer
}
