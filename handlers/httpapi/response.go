package httpapi

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// An httpResponse is a response, and the form in which it is stored.
type httpResponse struct {
	Status  int         `json:"status"`
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body,omitempty"`
	Base64  bool        `json:"base64,omitempty"` // of Body
	// Encoded are the fields of the stored form whose values are not UTF-8, in
	// base64, because JSON would replace bytes that are not UTF-8.
	Encoded map[string][]string `json:"encoded,omitempty"`

	// Final means that the response is stored whatever its status: the work is
	// done, and must not run again for the sake of a response.
	Final bool `json:"-"`
}

// valid reports whether the status is one that a response can have. A
// person, or a handler of a different trigger, may have stored something else.
func (r httpResponse) valid() bool { return r.Status >= 200 && r.Status <= 599 }

// stored returns the form of a response that is stored, with the fields of
// these names.
func (r httpResponse) stored(names []string) httpResponse {
	headers := make(http.Header, len(r.Headers))
	for name, values := range r.Headers {
		// A field without values is stored too: net/http takes it for a field
		// that the response must not contain.
		if name = http.CanonicalHeaderKey(name); slices.Contains(names, name) {
			headers[name] = append(headers[name], values...)
		}
	}
	for name, values := range headers {
		if slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			if r.Encoded == nil {
				r.Encoded = map[string][]string{}
			}
			for _, v := range values {
				r.Encoded[name] = append(r.Encoded[name], base64.StdEncoding.EncodeToString([]byte(v)))
			}
			delete(headers, name)
		}
	}
	r.Headers = headers
	return r
}

// restored returns a stored response as it was before. It drops values of headers that do
// not decode, which Once has not written.
func (r httpResponse) restored() httpResponse {
	if len(r.Encoded) == 0 {
		return r
	}
	headers := cloned(r.Headers)
	for name, values := range r.Encoded {
		for _, v := range values {
			if value, err := base64.StdEncoding.DecodeString(v); err == nil {
				headers[name] = append(headers[name], string(value))
			}
		}
	}
	r.Headers, r.Encoded = headers, nil
	return r
}

// replayed returns a stored response with the header of a replay, which is Stripe's.
func (r httpResponse) replayed() httpResponse {
	r.Headers = cloned(r.Headers)
	r.Headers.Set("Idempotent-Replayed", "true")
	return r
}

func cloned(headers http.Header) http.Header {
	if headers == nil {
		return http.Header{}
	}
	return headers.Clone()
}

// joined returns one value for each field, for formats that take no more. Values
// of Set-Cookie cannot be joined (RFC 9110 section 5.3): only the last remains.
func (r httpResponse) joined() map[string]string {
	headers := make(map[string]string, len(r.Headers))
	for name, values := range r.Headers {
		switch {
		case len(values) == 0:
		case name == setCookie:
			headers[name] = values[len(values)-1]
		default:
			headers[name] = strings.Join(values, ", ")
		}
	}
	return headers
}

const setCookie = "Set-Cookie"

// eventResponse returns the response in an event, which may list cookies beside its headers.
func eventResponse(status int, headers http.Header, cookies []string, body string, encoded bool) httpResponse {
	if len(cookies) > 0 {
		headers[setCookie] = append(headers[setCookie], cookies...)
	}
	return httpResponse{Status: status, Headers: headers, Body: body, Base64: encoded}
}

// joinedAndCookies is joined for formats that list cookies beside the headers.
func (r httpResponse) joinedAndCookies() (headers map[string]string, cookies []string) {
	headers = r.joined()
	if cookies = r.Headers[setCookie]; len(cookies) > 0 {
		delete(headers, setCookie)
	}
	return headers, cookies
}
