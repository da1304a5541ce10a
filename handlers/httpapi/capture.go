package httpapi

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

// A captureWriter captures one response, so that it can be stored before its client
// receives it. It handles a status, a length and a second
// WriteHeader as net/http does.
type captureWriter struct {
	outer   http.Header // set by the middleware around ours
	header  http.Header // the handler's
	sent    http.Header // as they were at WriteHeader; nil before
	status  int         // 0 if the handler has not begun a response
	length  int64       // the declared Content-Length; -1: none
	body    bytes.Buffer
	limit   int
	tooLong bool // the body has more bytes than the limit
}

// newCapture returns a writer of responses whose header contains the fields that are
// already set, as the handler may read and remove them.
func newCapture(header http.Header, limit int) *captureWriter {
	return &captureWriter{outer: header.Clone(), header: header.Clone(), limit: limit, length: -1}
}

// Header returns the fields that WriteHeader sends.
func (w *captureWriter) Header() http.Header { return w.header }

// WriteHeader captures the status and the fields. It ignores informational
// responses, and every status after the first.
func (w *captureWriter) WriteHeader(status int) {
	switch {
	case w.sent != nil:
		return
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	case status < 200:
		return
	}
	w.status, w.sent = status, w.header.Clone()
	if declared := w.sent.Get("Content-Length"); declared != "" {
		if n, err := strconv.ParseInt(declared, 10, 64); err == nil && n >= 0 {
			w.length = n
		}
	}
}

// Write captures a part of the body.
func (w *captureWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch total := w.body.Len() + len(p); {
	case len(p) == 0:
		return 0, nil
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && int64(total) > w.length:
		return 0, http.ErrContentLength
	case w.tooLong || total > w.limit:
		w.tooLong = true
		return 0, &ResponseTooLargeError{Limit: w.limit}
	}
	return w.body.Write(p)
}

// response returns the response of a handler that has returned.
func (w *captureWriter) response() httpResponse {
	w.WriteHeader(http.StatusOK)
	r := httpResponse{Status: w.status, Headers: http.Header{}, Body: w.body.String()}
	for name, values := range w.sent {
		// The middleware around sets its fields for this request, and again for
		// a repetition, which may come from another origin. A field that the
		// handler has set to nil is a field that it has set: net/http leaves it
		// out, and guesses no Content-Type.
		if outer, ok := w.outer[name]; !ok || !slices.Equal(values, outer) {
			r.Headers[name] = values
		}
	}
	if !utf8.Valid(w.body.Bytes()) { // JSON would replace bytes that are not UTF-8
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	return r
}

// replace replaces the handler's response.
func (w *captureWriter) replace(r httpResponse) {
	w.status, w.sent = r.Status, w.outer
	maps.Copy(w.sent, r.Headers)
	w.body.Reset()
	w.body.WriteString(r.Body)
}

// writeTo sends the whole response to its client.
func (w *captureWriter) writeTo(client http.ResponseWriter) {
	header := client.Header()
	clear(header)
	maps.Copy(header, w.sent)
	client.WriteHeader(w.status)
	_, _ = client.Write(w.body.Bytes()) // a client that has gone can repeat the request
}

// ResponseTooLargeError is the error of a handler's Write for a body of more
// than Options.MaxResponseBytes.
type ResponseTooLargeError struct{ Limit int } // in bytes

func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("httpapi: the response body has more than %d bytes and cannot be stored", e.Limit)
}

// SafeText returns the whole text.
func (e *ResponseTooLargeError) SafeText() string { return e.Error() }
