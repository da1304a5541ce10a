// Package problem makes the responses that report an error to a client: problem
// details as in RFC 9457.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/lambda-once/once/handlers/httpapi/internal/httpmsg"
)

// ContentType is the media type of a problem.
const ContentType = "application/problem+json"

// NoType is the type of a problem without documentation.
const NoType = "about:blank"

// A Problem is a response of Once itself. It contains neither the key nor
// anything of the body.
type Problem struct {
	Status     int
	Title      string // more specific than the status
	Detail     string
	RetryAfter int // seconds; 0: no such header
}

// Response returns the problem as a response. For the type about:blank, RFC 9457
// requires the status's title.
func (p Problem) Response(documentation string) httpmsg.Response {
	if documentation == NoType {
		p.Title = http.StatusText(p.Status)
	}
	headers := http.Header{"Content-Type": {ContentType}}
	if p.RetryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	return httpmsg.Response{Status: p.Status, Headers: headers, Body: Details{documentation, p.Title, p.Status, p.Detail}.Encode()}
}

// Details are the body of a problem.
type Details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// Encode returns the JSON text.
func (d Details) Encode() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(text)
}

// EncodeWithin returns the JSON text with as much of Detail as fits into limit
// bytes. Decoding and encoding the text again returns the same bytes.
func (d Details) EncodeWithin(limit int) string {
	// json.Marshal writes an escape for bytes that are not UTF-8, and none for the
	// character that the escape is decoded to.
	d.Detail = strings.ToValidUTF8(d.Detail, "\uFFFD")
	for {
		text := d.Encode()
		if len(text) <= limit {
			return text
		}
		// Escapes take up to six bytes for one.
		d.Detail = Clip(d.Detail, len(d.Detail)-max((len(text)-limit)/6, 1))
	}
}

// Clip cuts text to at most limit bytes, and never within a character.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return text[:max(limit, 0)]
}
