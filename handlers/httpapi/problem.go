package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

const problemContentType = "application/problem+json"

// noType is the type of a problem without documentation.
const noType = "about:blank"

// A problem is a response of Once itself (RFC 9457). It contains neither the key nor
// anything of the body.
type problem struct {
	status     int
	title      string // more specific than the status
	detail     string
	retryAfter int // seconds; 0: no such header
}

// response returns the problem as a response. For the type about:blank, RFC 9457
// requires the status's title.
func (p problem) response(documentation string) httpResponse {
	if documentation == noType {
		p.title = http.StatusText(p.status)
	}
	headers := http.Header{"Content-Type": {problemContentType}}
	if p.retryAfter > 0 {
		headers.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return httpResponse{Status: p.status, Headers: headers, Body: details{documentation, p.title, p.status, p.detail}.encode()}
}

// details are the body of a problem.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func (d details) encode() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(text)
}

// encodeWithin returns the JSON text with as much of Detail as fits into limit
// bytes. Decoding and encoding the text again returns the same bytes.
func (d details) encodeWithin(limit int) string {
	// json.Marshal writes an escape for bytes that are not UTF-8, and none for the
	// character that the escape is decoded to.
	d.Detail = strings.ToValidUTF8(d.Detail, "\uFFFD")
	for {
		text := d.encode()
		if len(text) <= limit {
			return text
		}
		// Escapes take up to six bytes for one.
		d.Detail = clip(d.Detail, len(d.Detail)-max((len(text)-limit)/6, 1))
	}
}

// clip cuts text to at most limit bytes, and never within a character.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return text[:max(limit, 0)]
}
