package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// tap is an endpoint of DynamoDB Local that notes its requests.
type tap struct {
	*wire.Proxy
	mu    sync.Mutex
	sent  []*wire.Request
	after func(*wire.Request) // if set, is called before a response is returned
}

func newTap(t *testing.T) *tap {
	t.Helper()
	p := &tap{}
	var err error
	p.Proxy, err = wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), func(r *wire.Request) (*wire.Response, error) {
		p.mu.Lock()
		p.sent = append(p.sent, r)
		after := p.after
		p.mu.Unlock()
		answer, err := r.Send()
		if after != nil {
			after(r)
		}
		return answer, err
	})
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, p.Close()) })
	return p
}

// respondAfter has responses wait for a function.
func (p *tap) respondAfter(f func(*wire.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
}

// about returns the requests so far about a table, and forgets all.
func (p *tap) about(table string) (requests []*wire.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.sent {
		if isAbout(r, table) {
			requests = append(requests, r)
		}
	}
	p.sent = nil
	return requests
}

// isAbout reports whether a request names a table. A name begins after a quote, as a
// value and in a statement.
func isAbout(r *wire.Request, table string) bool { return strings.Contains(string(r.Body), `"`+table) }

// actions returns the IAM actions that a request needs.
func actions(r *wire.Request) (names []string) {
	if r.Operation != "BatchExecuteStatement" {
		return []string{"dynamodb:" + r.Operation}
	}
	var in struct{ Statements []struct{ Statement string } }
	if err := json.Unmarshal(r.Body, &in); err != nil || len(in.Statements) == 0 {
		return []string{fmt.Sprint(string(r.Body), err)}
	}
	verbs := map[string]string{"DELETE": "PartiQLDelete", "INSERT": "PartiQLInsert", "SELECT": "PartiQLSelect", "UPDATE": "PartiQLUpdate"}
	for _, s := range in.Statements {
		verb, _, _ := strings.Cut(strings.TrimSpace(s.Statement), " ")
		names = append(names, "dynamodb:"+verbs[strings.ToUpper(verb)])
	}
	return names
}
