package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// EncodeResponse returns the stored form of a response, with all of its headers. The
// operator's command stores it as the result of a request whose outcome only a person
// knows. Without a Content-Type, a body has that of JSON, or else of text.
func EncodeResponse(status int, headers http.Header, body []byte) ([]byte, error) {
	r := httpResponse{Status: status, Headers: cloned(headers), Body: string(body)}
	switch bodyless := status == http.StatusNoContent || status == http.StatusNotModified; {
	case !r.valid():
		return nil, fmt.Errorf("httpapi: the status %d is not from 200 to 599", status)
	case bodyless && len(body) > 0:
		return nil, fmt.Errorf("httpapi: a response with the status %d has no body", status)
	}
	var names []string
	for name, values := range r.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding":
			return nil, fmt.Errorf("httpapi: the header %q is the server's: it would cut the response off", name)
		}
		for _, value := range values {
			if !isFieldName(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return nil, fmt.Errorf("httpapi: the header %q is not one of HTTP", name)
			}
		}
		names = append(names, http.CanonicalHeaderKey(name))
	}
	switch {
	case len(body) == 0 || r.Headers.Get("Content-Type") != "":
	case json.Valid(body):
		r.Headers.Set("Content-Type", "application/json")
	case utf8.Valid(body):
		r.Headers.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if !utf8.Valid(body) {
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(body), true
	}
	return json.Marshal(r.stored(append(names, "Content-Type")))
}

// resolve takes a result that an operator has stored, which may be one of a caller
// without HTTP: null is a response without content, and any other JSON text that is
// not exactly a stored response is a body.
func (e *exchange) resolve(data []byte) bool {
	var r httpResponse
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	switch {
	case !json.Valid(data):
		return false
	case d.Decode(&r) == nil && r.valid():
	case string(bytes.TrimSpace(data)) == "null":
		r = httpResponse{Status: http.StatusNoContent}
	default:
		r = httpResponse{Status: http.StatusOK, Headers: http.Header{"Content-Type": {"application/json"}}, Body: string(data)}
	}
	e.resolved = &r
	return true
}
