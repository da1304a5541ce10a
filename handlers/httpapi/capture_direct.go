package httpapi

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// A directWriter passes a response on to its client while the handler writes it. After
// hold, it captures the response instead.
type directWriter struct {
	client http.ResponseWriter
	outer  http.Header // set by the middleware around ours
	limit  int         // of a captured response

	mu    sync.Mutex
	begun bool // a part of the response may have been sent
	held  *captureWriter
}

func newDirect(client http.ResponseWriter, limit int) *directWriter {
	return &directWriter{client: client, outer: client.Header().Clone(), limit: limit}
}

// hold captures the response from now on. It reports false if a part of the
// response may have been sent.
func (d *directWriter) hold() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil && !d.begun {
		// The handler may have kept the header.
		d.held = &captureWriter{outer: d.outer.Clone(), header: d.client.Header(), limit: d.limit, length: -1}
	}
	return d.held != nil
}

// captured returns the captured response, or nil if nothing is captured.
func (d *directWriter) captured() *captureWriter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held
}

// hasBegun reports whether a part of the response may have been sent.
func (d *directWriter) hasBegun() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun
}

// drop removes the fields that the handler has set, before a different response is
// sent in place of the captured one.
func (d *directWriter) drop() {
	header := d.client.Header()
	clear(header)
	maps.Copy(header, d.outer)
}

// begin returns the writer of the next part of the response.
func (d *directWriter) begin() http.ResponseWriter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		return d.held
	}
	d.begun = true
	return d.client
}

// control returns the controller of the next part of the response. Nothing can be
// controlled while the response is captured.
func (d *directWriter) control() *http.ResponseController {
	return http.NewResponseController(d.begin())
}

// Header returns the fields that WriteHeader sends.
func (d *directWriter) Header() http.Header { return d.client.Header() }

// WriteHeader sends or captures the status and the fields. An informational
// response does not begin the response.
func (d *directWriter) WriteHeader(status int) {
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		if d.captured() == nil {
			d.client.WriteHeader(status)
		}
		return
	}
	d.begin().WriteHeader(status)
}

// Write sends or captures a part of the body.
func (d *directWriter) Write(p []byte) (int, error) { return d.begin().Write(p) }

// WriteString is Write for a string.
func (d *directWriter) WriteString(s string) (int, error) { return io.WriteString(d.begin(), s) }

// ReadFrom sends or captures the bytes of r.
func (d *directWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(d.begin(), r) }

// FlushError sends the buffered bytes.
func (d *directWriter) FlushError() error { return d.control().Flush() }

// SetReadDeadline sets the deadline for reading the request.
func (d *directWriter) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(d.client).SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline for writing the response.
func (d *directWriter) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(d.client).SetWriteDeadline(t)
}

// EnableFullDuplex allows reading the request while the response is written.
func (d *directWriter) EnableFullDuplex() error {
	return http.NewResponseController(d.client).EnableFullDuplex()
}

// responseWriter returns d with those of the optional interfaces of net/http that
// its client has.
func (d *directWriter) responseWriter() http.ResponseWriter {
	_, flushes := find[http.Flusher](d.client)
	_, hijacks := find[http.Hijacker](d.client)
	pusher, pushes := find[http.Pusher](d.client)
	switch {
	case flushes && hijacks: // HTTP/1
		return struct {
			*directWriter
			flusher
			hijacker
		}{d, flusher{d}, hijacker{d}}
	case flushes && pushes: // HTTP/2
		return struct {
			*directWriter
			flusher
			http.Pusher
		}{d, flusher{d}, pusher}
	case flushes:
		return struct {
			*directWriter
			flusher
		}{d, flusher{d}}
	case hijacks:
		return struct {
			*directWriter
			hijacker
		}{d, hijacker{d}}
	}
	return d
}

type flusher struct{ direct *directWriter }

func (f flusher) Flush() { _ = f.direct.FlushError() } // as net/http's: it returns none

type hijacker struct{ direct *directWriter }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.direct.control().Hijack() }

// find returns the first writer in the chain of a client that is a T, as
// http.ResponseController does.
func find[T any](client http.ResponseWriter) (found T, ok bool) {
	for {
		if found, ok = client.(T); ok {
			return found, true
		}
		outer, wraps := client.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return found, false
		}
		client = outer.Unwrap()
	}
}
