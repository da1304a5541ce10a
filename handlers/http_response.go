package handlers

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// httpResponse is an answer, whatever carries it, and what is stored of one.
type httpResponse struct {
	Status  int         `json:"status"`
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body,omitempty"`
	Base64  bool        `json:"base64,omitempty"` // of Body
	// Encoded are the fields of the stored form whose values are not UTF-8, in
	// base64: JSON would replace what is not.
	Encoded map[string][]string `json:"encoded,omitempty"`

	// done is set where the answer is to be kept whatever its status says:
	// the work is done, and must not be done again for the answer's sake.
	done bool
}

// isAnswer tells what a call of an adapter has stored from what a person, or a
// handler of another trigger, has.
func (r httpResponse) isAnswer() bool { return r.Status >= 200 && r.Status <= 599 }

// kept is the part of an answer that is stored.
func (r httpResponse) kept(names []string) httpResponse {
	headers := make(http.Header, len(r.Headers))
	for name, values := range r.Headers {
		// A field without values is kept too: for net/http it says that the
		// answer is not to have the field.
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

// restored is an answer as it was before it was stored. What does not decode
// was written by somebody else, and is left out.
func (r httpResponse) restored() httpResponse {
	if len(r.Encoded) == 0 {
		return r
	}
	headers := r.Headers.Clone()
	if headers == nil {
		headers = http.Header{}
	}
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

// marked is a stored answer with the mark of a replay.
func (r httpResponse) marked(header string) httpResponse {
	headers := r.Headers.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	headers.Set(header, "true")
	r.Headers = headers
	return r
}

// joined gives each field one value, for formats that have no more. A
// Set-Cookie cannot be joined (RFC 9110 section 5.3): the last one is left.
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

// withoutCookies takes them out, for formats that have a list for them.
func (r httpResponse) withoutCookies() (httpResponse, []string) {
	cookies := r.Headers[setCookie]
	if len(cookies) > 0 {
		headers := r.Headers.Clone()
		headers.Del(setCookie)
		r.Headers = headers
	}
	return r, cookies
}

// UnstoredError releases the key of an answer that is not kept. The client
// gets the answer all the same; observers get this.
type UnstoredError struct{ Status int }

func (e *UnstoredError) Error() string {
	return fmt.Sprintf("handlers: an answer with the status %d is not kept, and the key is free for a retry", e.Status)
}
