package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/lambda-once/once/local/wire"
)

// tableCalls is a proxy between a function and DynamoDB Local. It notes the requests
// to the table of the records, which show whether a call ran its handler.
type tableCalls struct {
	*wire.Proxy
	table string

	mu    sync.Mutex
	calls []string
	wrote bool
}

// watchTable starts a proxy in front of the endpoint that env names, and leads env to
// it. Without an endpoint of DynamoDB Local or a table in env, it returns nil.
func watchTable(env []string) (_ *tableCalls, _ []string, err error) {
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
	if t.Proxy, err = wire.HTTP(strings.TrimPrefix(env[at], endpoint), t.carry); err != nil {
		return nil, nil, endf(codeUsage, "%s: %w", endpoint, err)
	}
	env[at] = endpoint + t.URL()
	return t, env, nil
}

func (t *tableCalls) carry(r *wire.Request) (*wire.Response, error) {
	answer, err := r.Send()
	if err != nil {
		// Not an error of the command: the function decides what that means.
		return &wire.Response{Status: http.StatusBadGateway}, nil
	}
	body := bytes.ReplaceAll(r.Body, []byte(`\"`), []byte(`"`)) // PartiQL is in a string
	if !bytes.Contains(body, []byte(`"`+t.table+`"`)) {
		return answer, nil
	}
	operation := r.Operation
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case answer.Status >= 300, operation == "BatchExecuteStatement" && allRefused(answer.Body):
		operation += " refused"
	case operation != "GetItem" && operation != "BatchGetItem":
		t.wrote = true
	}
	t.calls = append(t.calls, operation)
	return answer, nil
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

// said describes a call by its requests, and forgets them.
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
