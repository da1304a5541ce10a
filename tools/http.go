package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// callerOf returns the caller as API Gateway or a function URL knows it. Both have the
// payload format 2.0.
func callerOf(e events.APIGatewayV2HTTPRequest) Caller {
	caller := Caller{Header: http.Header{}}
	for name, value := range e.Headers {
		caller.Header.Add(name, value)
	}
	if a := e.RequestContext.Authorizer; a != nil {
		caller.Authorizer = a.Lambda
		if a.JWT != nil {
			caller.Claims = a.JWT.Claims
		}
		if a.IAM != nil {
			caller.UserARN = a.IAM.UserARN
		}
	}
	return caller
}

// respond serves an event by an HTTP handler, which reads neither its path nor its query.
// lambdaurl of aws-lambda-go does it for function URLs alone, in the mode RESPONSE_STREAM.
func respond(ctx context.Context, handler http.Handler, e events.APIGatewayV2HTTPRequest, header http.Header) events.APIGatewayV2HTTPResponse {
	body, err := []byte(e.Body), error(nil)
	if e.IsBase64Encoded {
		body, err = base64.StdEncoding.DecodeString(e.Body)
	}
	r, invalid := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, "https://lambda/", bytes.NewReader(body))
	if err != nil || invalid != nil {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest}
	}
	r.Header = header
	w := &recorder{header: http.Header{}}
	handler.ServeHTTP(w, r)
	headers := make(map[string]string, len(w.header))
	for name, values := range w.header {
		headers[name] = strings.Join(values, ",")
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: cmp.Or(w.status, http.StatusOK), Headers: headers, Body: w.body.String()}
}

// recorder keeps a response, which is JSON or plain text.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *recorder) WriteHeader(status int)      { w.status = cmp.Or(w.status, status) }
