package handlers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"
)

// ResponseTooLargeError is what a handler's Write gets for a body beyond
// HTTPOptions.MaxResponseBytes.
type ResponseTooLargeError struct{ Limit int } // in bytes

func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("handlers: the body of the answer has more than %d bytes, and cannot be kept for a repetition", e.Limit)
}

// heldResponse is a http.ResponseWriter that keeps the answer. In what it does
// with a status, a length and a second WriteHeader it follows net/http.
type heldResponse struct {
	around   http.Header // set by the middleware around ours
	header   http.Header // the handler's
	sent     http.Header // as they were at WriteHeader; nil before
	status   int
	length   int64 // the declared Content-Length; -1: none
	body     bytes.Buffer
	limit    int
	tooLarge bool
}

// newHeldResponse starts with the fields that are set already, as the handler
// may look at them, and take some away.
func newHeldResponse(header http.Header, limit int) *heldResponse {
	return &heldResponse{around: header.Clone(), header: header.Clone(), limit: limit, length: -1}
}

func (h *heldResponse) Header() http.Header { return h.header }

func (h *heldResponse) WriteHeader(status int) {
	switch {
	case h.sent != nil:
		return
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	case status < 200:
		return
	}
	h.status, h.sent = status, h.header.Clone()
	if declared := h.sent.Get("Content-Length"); declared != "" {
		if n, err := strconv.ParseInt(declared, 10, 64); err == nil && n >= 0 {
			h.length = n
		}
	}
}

func (h *heldResponse) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	switch total := h.body.Len() + len(p); {
	case len(p) == 0:
		return 0, nil
	case h.status == http.StatusNoContent || h.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case h.length >= 0 && int64(total) > h.length:
		return 0, http.ErrContentLength
	case h.tooLarge || total > h.limit:
		h.tooLarge = true
		return 0, &ResponseTooLargeError{Limit: h.limit}
	}
	return h.body.Write(p)
}

// response is the answer of a handler that has returned.
func (h *heldResponse) response() httpResponse {
	h.WriteHeader(http.StatusOK)
	r := httpResponse{Status: h.status, Headers: http.Header{}, Body: h.body.String()}
	for name, values := range h.sent {
		// What the middleware around sets is for this request. It sets it
		// again for a repetition, which may come from another origin. A
		// field that is set to nil is not one that is not set: net/http
		// leaves it out, and guesses no Content-Type.
		if around, is := h.around[name]; !is || !slices.Equal(values, around) {
			r.Headers[name] = values
		}
	}
	if !utf8.Valid(h.body.Bytes()) { // JSON, as which it is stored, would replace what is not
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(h.body.Bytes()), true
	}
	return r
}

// replace puts another answer in the place of the handler's.
func (h *heldResponse) replace(r httpResponse) {
	h.status, h.sent = r.Status, h.around
	maps.Copy(h.sent, r.Headers)
	h.body.Reset()
	h.body.WriteString(r.Body)
}

// writeTo gives the answer in full to its client.
func (h *heldResponse) writeTo(w http.ResponseWriter) {
	header := w.Header()
	clear(header)
	maps.Copy(header, h.sent)
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes()) // the client has gone, and can ask again
}
