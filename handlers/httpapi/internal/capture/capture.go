// Package capture provides a http.ResponseWriter that captures the response of a
// handler, so that it can be stored before its client receives it.
package capture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers/httpapi/internal/httpmsg"
)

// A Writer captures one response. It handles a status, a length and a second
// WriteHeader as net/http does.
type Writer struct {
	outer   http.Header // set by the middleware around ours
	header  http.Header // the handler's
	sent    http.Header // as they were at WriteHeader; nil before
	status  int
	length  int64 // the declared Content-Length; -1: none
	body    bytes.Buffer
	limit   int
	tooLong bool
	errLong error
}

// New returns a Writer whose header contains the fields that are already set,
// as the handler may read and remove them. Write returns tooLong for a body of
// more than limit bytes.
func New(header http.Header, limit int, tooLong error) *Writer {
	return &Writer{outer: header.Clone(), header: header.Clone(), limit: limit, length: -1, errLong: tooLong}
}

// Header returns the fields that WriteHeader sends.
func (w *Writer) Header() http.Header { return w.header }

// WriteHeader captures the status and the fields. It ignores informational
// responses, and every status after the first.
func (w *Writer) WriteHeader(status int) {
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
func (w *Writer) Write(p []byte) (int, error) {
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
		return 0, w.errLong
	}
	return w.body.Write(p)
}

// Status returns the status, or 0 if the handler has not begun a response.
func (w *Writer) Status() int { return w.status }

// TooLong reports whether the body has more bytes than the limit.
func (w *Writer) TooLong() bool { return w.tooLong }

// Response returns the response of a handler that has returned.
func (w *Writer) Response() httpmsg.Response {
	w.WriteHeader(http.StatusOK)
	r := httpmsg.Response{Status: w.status, Headers: http.Header{}, Body: w.body.String()}
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

// Replace replaces the handler's response.
func (w *Writer) Replace(r httpmsg.Response) {
	w.status, w.sent = r.Status, w.outer
	maps.Copy(w.sent, r.Headers)
	w.body.Reset()
	w.body.WriteString(r.Body)
}

// WriteTo sends the whole response to its client.
func (w *Writer) WriteTo(client http.ResponseWriter) {
	header := client.Header()
	clear(header)
	maps.Copy(header, w.sent)
	client.WriteHeader(w.status)
	_, _ = client.Write(w.body.Bytes()) // a client that has gone can repeat the request
}
