// Package httpclient sends requests to services that recognize repetitions by the header
// Idempotency-Key, such as those behind package httpapi. It repeats a request without an
// answer under the key of its first attempt:
//
//	client := &http.Client{Transport: httpclient.Transport(nil, nil)}
//
// The key protects against everything that happens within one call of the client. For a
// request that must survive the crash of its sender, set the header to a key that is
// stored together with the purpose of the request.
package httpclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Options are optional settings of [Transport].
type Options struct {
	// Header is the field of the key. Default "Idempotency-Key".
	Header string

	// MaxTime is the time after which no repetition begins. The deadline of the request's
	// context holds as well. Default 1 min.
	MaxTime time.Duration

	// NewKey returns the key of a request without one. Default a UUID of version 7, in
	// which the service can read its age.
	NewKey func() string
}

const (
	defaultMaxTime    = time.Minute
	defaultAnswerTime = 30 * time.Second // as long as an API Gateway waits
	firstPause        = 100 * time.Millisecond
	longestPause      = 5 * time.Second
	mostRead          = 6 << 20 // of a response, before it is returned: as much as Lambda answers
)

// Transport returns a RoundTripper that sends each request to next with a key, and
// repeats it with the same key
//
//   - after a 409 with a Retry-After: the first attempt is running. A 409 without one is
//     the answer of the service itself;
//   - after 502, 503 and 504, unless they are a stored response, which says
//     Idempotent-Replayed: true;
//   - after an error of next, such as a broken connection or a timeout, and after a
//     response that breaks off within its first 6 MB, which are read at once.
//
// It waits longer after each attempt, and at least as long as Retry-After says. All
// other responses are final, such as a 400 and a 422. So are these if the wait would end
// after [Options].MaxTime or the context's deadline, and if the body cannot be read
// again: see [http.Request.GetBody], which http.NewRequest sets for bytes and strings.
//
// A key that the request has is kept, and repeating the request in the caller's own loop
// needs one. Requests with safe methods, such as GET, go to next unchanged.
//
// Use it only for services that recognize the key: others carry out each repetition. A
// streamed response is returned when 6 MB have come, or its end.
//
// A nil next is that of net/http, with 30 s for the answer: with the ResponseHeaderTimeout
// of a http.Transport, a connection that is silent counts as broken.
func Transport(next http.RoundTripper, o *Options) http.RoundTripper {
	t := &transport{next: next}
	if o != nil {
		t.o = *o
	}
	if t.next == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.ResponseHeaderTimeout = defaultAnswerTime
		t.next = own
	}
	t.o.Header = cmp.Or(t.o.Header, "Idempotency-Key")
	t.o.MaxTime = cmp.Or(max(t.o.MaxTime, 0), defaultMaxTime)
	if t.o.NewKey == nil {
		t.o.NewKey = newUUID
	}
	return t
}

type transport struct {
	next http.RoundTripper
	o    Options
}

var safeMethods = []string{"", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(safeMethods, r.Method) {
		return t.next.RoundTrip(r)
	}
	last := time.Now().Add(t.o.MaxTime)
	if deadline, ok := r.Context().Deadline(); ok && deadline.Before(last) {
		last = deadline
	}
	keyed := r.Clone(r.Context()) // a RoundTripper does not change its request
	if keyed.Header.Get(t.o.Header) == "" {
		keyed.Header.Set(t.o.Header, t.o.NewKey())
	}
	backoff := firstPause
	for {
		response, err := t.send(keyed)
		pause, again := pauseAfter(response, err, backoff)
		if !again || r.Context().Err() != nil || time.Now().Add(pause).After(last) {
			return response, err
		}
		next, ok := repeated(keyed)
		if !ok {
			return response, err
		}
		if response != nil {
			_ = response.Body.Close()
		}
		select {
		case <-time.After(pause):
			keyed, backoff = next, min(2*backoff, longestPause)
		case <-r.Context().Done():
			if next.Body != nil {
				_ = next.Body.Close()
			}
			return nil, context.Cause(r.Context())
		}
	}
}

// send reads the body of the response as well: one that breaks off is no answer.
func (t *transport) send(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := response.Body
	begin, err := io.ReadAll(io.LimitReader(body, mostRead))
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), body), body}
	return response, nil
}

// pauseAfter returns how long to wait before a repetition, and whether there is one.
func pauseAfter(response *http.Response, err error, backoff time.Duration) (pause time.Duration, again bool) {
	pause = backoff/2 + mathrand.N(backoff/2) // so that callers do not meet again and again
	if err != nil {
		return pause, true
	}
	after, told := retryAfter(response.Header.Get("Retry-After"))
	pause = max(pause, after) // a Retry-After of 0 is no reason to ask all the time
	switch response.StatusCode {
	case http.StatusConflict:
		return pause, told
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return pause, response.Header.Get("Idempotent-Replayed") != "true"
	}
	return 0, false
}

// retryAfter reads a number of seconds or a date.
func retryAfter(value string) (pause time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	return max(time.Until(at), 0), err == nil
}

// repeated returns the request with its body from the start, if it can be read again.
func repeated(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

// newUUID returns a UUID of version 7 (RFC 9562): 48 bits of milliseconds, and random ones.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
