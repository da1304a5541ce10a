package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// request is what the function has sent to DynamoDB.
type request struct{ operation, body string }

// tap is an endpoint of DynamoDB Local that remembers what was sent to it.
type tap struct {
	*httptest.Server
	mu    sync.Mutex
	sent  []request
	after func(request) // if set, is called before a response is returned
}

func newTap(t *testing.T) *tap {
	t.Helper()
	local, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		t.Fatal(err)
	}
	proxy, seen := httputil.NewSingleHostReverseProxy(local), &tap{}
	seen.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		sent := request{operation, string(body)}
		seen.mu.Lock()
		seen.sent = append(seen.sent, sent)
		after := seen.after
		seen.mu.Unlock()
		response := httptest.NewRecorder()
		proxy.ServeHTTP(response, r)
		if after != nil {
			after(sent)
		}
		for name, values := range response.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes()) // its caller may be gone
	}))
	t.Cleanup(seen.Close)
	return seen
}

// respondAfter has responses wait for a function.
func (p *tap) respondAfter(f func(request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
}

// about returns the requests so far about a table, and forgets all.
func (p *tap) about(table string) (requests []request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.sent {
		if r.isAbout(table) {
			requests = append(requests, r)
		}
	}
	p.sent = nil
	return requests
}

// isAbout reports whether a request names a table. A name begins after a quote, as a
// value and in a statement.
func (r request) isAbout(table string) bool { return strings.Contains(r.body, `"`+table) }

// actions returns the IAM actions that a request needs.
func (r request) actions() (names []string) {
	if r.operation != "BatchExecuteStatement" {
		return []string{"dynamodb:" + r.operation}
	}
	var in struct{ Statements []struct{ Statement string } }
	if err := json.Unmarshal([]byte(r.body), &in); err != nil || len(in.Statements) == 0 {
		return []string{fmt.Sprint(r, err)}
	}
	verbs := map[string]string{"DELETE": "PartiQLDelete", "INSERT": "PartiQLInsert", "SELECT": "PartiQLSelect", "UPDATE": "PartiQLUpdate"}
	for _, s := range in.Statements {
		verb, _, _ := strings.Cut(strings.TrimSpace(s.Statement), " ")
		names = append(names, "dynamodb:"+verbs[strings.ToUpper(verb)])
	}
	return names
}

// orders returns the messages of orders.
func orders(from, to int) (batch []message) {
	for i := from; i < to; i++ {
		batch = append(batch, message{fmt.Sprint("m", i), fmt.Sprintf(`{"orderId":"o-%d","sku":"cup","quantity":1}`, i), "1"})
	}
	return batch
}
