package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// tableCalls is a proxy between a function and DynamoDB Local. It notes the requests
// to the table of the records, which show whether a call ran its handler.
type tableCalls struct {
	table    string
	listener net.Listener
	server   http.Server
	serving  sync.WaitGroup

	mu    sync.Mutex
	calls []string
	wrote bool
}

// watchTable starts a proxy in front of the endpoint that env names, and leads env to
// it. Without an endpoint of DynamoDB Local or a table in env, it returns nil.
func watchTable(env []string) (*tableCalls, []string, error) {
	const endpoint, table = "AWS_ENDPOINT_URL_DYNAMODB=", "IDEMPOTENCY_TABLE="
	t, at := &tableCalls{}, -1
	for i, entry := range env {
		if name, ok := strings.CutPrefix(entry, table); ok {
			t.table = name
		}
		if strings.HasPrefix(entry, endpoint+"http://") {
			at = i
		}
	}
	if t.table == "" || at < 0 {
		return nil, env, nil
	}
	target, err := url.Parse(strings.TrimPrefix(env[at], endpoint))
	if err != nil {
		return nil, nil, endf(codeUsage, "%s: %w", endpoint, err)
	}
	if t.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	proxy := &httputil.ReverseProxy{ModifyResponse: t.note, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	t.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the function has gone
		}
		if quoted := []byte(`"` + t.table + `"`); !bytes.Contains(bytes.ReplaceAll(body, []byte(`\"`), []byte(`"`)), quoted) { // PartiQL is in a string
			r.Header.Set(elsewhere, "1")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
	t.serving.Go(func() { _ = t.server.Serve(t.listener) }) // http.ErrServerClosed
	env[at] = endpoint + "http://" + t.listener.Addr().String()
	return t, env, nil
}

// elsewhere marks a request that is not about the records.
const elsewhere = "Once-Invoke-Elsewhere"

func (t *tableCalls) note(r *http.Response) error {
	if r.Request.Header.Get(elsewhere) != "" {
		return nil
	}
	_, operation, _ := strings.Cut(r.Request.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case r.StatusCode >= 300, operation == "BatchExecuteStatement" && allRefused(body):
		operation += " refused"
	case operation != "GetItem" && operation != "BatchGetItem":
		t.wrote = true
	}
	t.calls = append(t.calls, operation)
	return nil
}

// allRefused reports whether no statement of a batch was executed.
func allRefused(body []byte) bool {
	var batch struct {
		Responses []struct{ Error *struct{ Code string } }
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		return false
	}
	for _, statement := range batch.Responses {
		if statement.Error == nil {
			return false
		}
	}
	return true
}

// said returns what a call did, by its requests, and forgets them.
func (t *tableCalls) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	did, calls := "the handler did not run", t.calls
	if t.wrote {
		did = "the handler ran"
	}
	t.calls, t.wrote = nil, false
	if len(calls) == 0 {
		return "no request to table " + t.table
	}
	return fmt.Sprintf("%s (%s)", did, strings.Join(calls, ", "))
}

func (t *tableCalls) close() error {
	err := t.server.Close()
	t.serving.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
