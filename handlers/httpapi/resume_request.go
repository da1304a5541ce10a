package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// storedRequest is a request as Config.Resume stores it.
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

// event decodes the request as an event, which is one of the four types. An event that can
// have its values in one of two maps has them in both.
func (s *storedRequest) event(event any) error {
	from, headers := &s.Request, s.headers()
	if _, rest := event.(*events.APIGatewayProxyRequest); !rest { // the others write names so
		for name, values := range s.headers() {
			delete(headers, name)
			headers[strings.ToLower(name)] = values
		}
	}
	query := map[string]string{}
	for name, values := range from.Query {
		if len(values) > 0 {
			query[name] = values[len(values)-1]
		}
	}
	for name, values := range (&incoming{Query: rawQuery(string(from.RawQuery))}).queryMap() {
		query[name] = strings.Join(values, ",")
	}
	members := map[string]any{
		"version": "2.0", "httpMethod": from.Method, "path": from.Path, "rawPath": from.Path,
		"resource": from.Route, "routeKey": from.Route, "pathParameters": from.Parameters,
		"rawQueryString": string(from.RawQuery), "queryStringParameters": query, "multiValueQueryStringParameters": from.Query,
		"headers": httpResponse{Headers: headers}.joined(), "multiValueHeaders": headers,
		"requestContext": map[string]any{
			"http": map[string]any{"method": from.Method, "path": from.Path}, "httpMethod": from.Method,
			"resourcePath": from.Route, "routeKey": from.Route, "stage": from.Stage,
		},
	}
	members["body"], members["isBase64Encoded"] = string(from.Body), false
	if !utf8.Valid(from.Body) {
		members["body"], members["isBase64Encoded"] = from.Body, true // JSON has it as base64
	}
	data, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(data, event)
	}
	return err
}
