package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// A StoredRequest is a request that Config.Resume has stored. It is decoded by
// handlers.Resume.
type StoredRequest struct{ stored storedRequest }

// UnmarshalJSON decodes the stored form.
func (r *StoredRequest) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &r.stored) }

type storedRequest struct {
	Scope   string      `json:"scope,omitempty"`
	Caller  string      `json:"caller,omitempty"`
	Request storedParts `json:"request"`
}

// storedParts has texts that need not be UTF-8 as bytes: JSON would replace some of theirs.
type storedParts struct {
	Method   string `json:"method"`
	Path     string `json:"path"`
	RawQuery []byte `json:"raw_query,omitempty"`
	sent
	Headers http.Header         `json:"headers,omitempty"`
	Encoded map[string][]string `json:"encoded,omitempty"` // as in httpResponse
	Body    []byte              `json:"body,omitempty"`
}

// sent are the parts of an event that are stored as they came.
type sent struct {
	Query      map[string][]string `json:"query,omitempty"` // in place of RawQuery
	Route      string              `json:"route,omitempty"`
	Parameters map[string]string   `json:"parameters,omitempty"` // of the path
	Stage      string              `json:"stage,omitempty"`
}

func (s *storedRequest) headers() http.Header {
	return cloned(httpResponse{Headers: s.Request.Headers, Encoded: s.Request.Encoded}.restored().Headers)
}

// httpRequest returns the request as a server would have read it.
func (s *storedRequest) httpRequest(ctx context.Context) (*http.Request, error) {
	path, err := url.PathUnescape(s.Request.Path)
	if err != nil {
		return nil, err
	}
	to := &url.URL{Path: path, RawQuery: string(s.Request.RawQuery)}
	if to.EscapedPath() != s.Request.Path {
		to.RawPath = s.Request.Path
	}
	headers := s.headers()
	r := &http.Request{
		Method: s.Request.Method, URL: to, RequestURI: to.RequestURI(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: headers, Host: headers.Get("Host"),
		Body: io.NopCloser(bytes.NewReader(s.Request.Body)), ContentLength: int64(len(s.Request.Body)),
	}
	headers.Del("Host")
	return r.WithContext(ctx), nil
}

// fill makes the request an event, a pointer to one of the four types. An event that can
// have its values in one of two maps has them in both.
func (s *storedRequest) fill(event any) {
	from := &s.Request
	body, encoded := string(from.Body), false
	if !utf8.Valid(from.Body) {
		body, encoded = base64.StdEncoding.EncodeToString(from.Body), true
	}
	headers := s.headers()
	lower := make(http.Header, len(headers)) // as all but REST APIs write names
	for name, values := range headers {
		lower[strings.ToLower(name)] = values
	}
	query := map[string]string{}
	for name, values := range (&incoming{Query: rawQuery(string(from.RawQuery))}).queryMap() {
		query[name] = strings.Join(values, ",")
	}
	switch e := event.(type) {
	case *events.ALBTargetGroupRequest:
		e.HTTPMethod, e.Path, e.Body, e.IsBase64Encoded = from.Method, from.Path, body, encoded
		e.MultiValueHeaders, e.Headers = lower, last(lower)
		e.MultiValueQueryStringParameters, e.QueryStringParameters = from.Query, last(from.Query)
	case *events.APIGatewayProxyRequest:
		e.HTTPMethod, e.Path, e.Body, e.IsBase64Encoded = from.Method, from.Path, body, encoded
		e.MultiValueHeaders, e.Headers = headers, last(headers)
		e.MultiValueQueryStringParameters, e.QueryStringParameters = from.Query, last(from.Query)
		e.Resource, e.PathParameters = from.Route, from.Parameters
		e.RequestContext.ResourcePath, e.RequestContext.Stage, e.RequestContext.HTTPMethod = from.Route, from.Stage, from.Method
	case *events.APIGatewayV2HTTPRequest:
		e.Version, e.RawPath, e.RawQueryString, e.Body, e.IsBase64Encoded = "2.0", from.Path, string(from.RawQuery), body, encoded
		e.Headers, e.QueryStringParameters = httpResponse{Headers: lower}.joined(), query
		e.RouteKey, e.PathParameters = from.Route, from.Parameters
		e.RequestContext.RouteKey, e.RequestContext.Stage = from.Route, from.Stage
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = from.Method, from.Path
	case *events.LambdaFunctionURLRequest:
		e.Version, e.RawPath, e.RawQueryString, e.Body, e.IsBase64Encoded = "2.0", from.Path, string(from.RawQuery), body, encoded
		e.Headers, e.QueryStringParameters = httpResponse{Headers: lower}.joined(), query
		e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = from.Method, from.Path
	}
}

func last(multi map[string][]string) map[string]string {
	single := make(map[string]string, len(multi))
	for name, values := range multi {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return single
}
