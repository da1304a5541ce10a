package tools_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

type refund struct {
	Order  string   `json:"order"`
	Amount int64    `json:"amount"`
	Reason string   `json:"reason,omitempty"`
	Lines  []string `json:"lines,omitempty"`
}

type receipt struct {
	ID     string `json:"id"`
	Order  string `json:"order"`
	Amount int64  `json:"amount"`
}

// desk is a refund tool that counts its runs.
type desk struct {
	t     *testing.T
	store *memory.Store
	tool  *tools.Tool
	runs  atomic.Int64
	calls chan idempotent.Event
	// work replaces the tool's own function.
	work func(context.Context, refund) (receipt, error)
}

// byOrder is the order's number. The amount is compared, and the reason is not.
func byOrder(r refund) (idempotent.Key, error) {
	return idempotent.Key{ID: r.Order, Payload: r.Amount}, nil
}

func newDesk(t *testing.T, key func(refund) (idempotent.Key, error)) *desk {
	return newDeskWith(t, key, &idempotent.Config{})
}

func newDeskWith(t *testing.T, key func(refund) (idempotent.Key, error), config *idempotent.Config) *desk {
	t.Helper()
	d := &desk{t: t, store: memory.New(0), calls: make(chan idempotent.Event, 100)}
	config.Observer = d
	x, err := idempotent.New("refunds", d.store, config)
	check.Must(t, err)
	d.work = func(_ context.Context, r refund) (receipt, error) {
		return receipt{"r-" + r.Order + "-<&>", r.Order, r.Amount}, nil
	}
	d.tool = tools.New(x, &mcp.Tool{Name: "refund", Description: "Refunds an order."}, key,
		func(ctx context.Context, r refund) (receipt, error) {
			d.runs.Add(1)
			return d.work(ctx, r)
		})
	return d
}

func (d *desk) Observe(_ context.Context, e idempotent.Event) { d.calls <- e }

func (d *desk) records() int {
	d.t.Helper()
	page, err := d.store.Scan(d.t.Context(), driver.Filter{}, "")
	check.Must(d.t, err)
	return len(page.Entries)
}

func (d *desk) ran(want int64, about ...any) {
	d.t.Helper()
	check.Equal(d.t, d.runs.Load(), want, append([]any{"runs"}, about...)...)
}

type door = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// result is a response of JSON-RPC.
type result struct {
	ID     json.RawMessage `json:"id"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		Structured json.RawMessage         `json:"structuredContent"`
		Content    []struct{ Text string } `json:"content"`
		IsError    bool                    `json:"isError"`
		Meta       map[string]any          `json:"_meta"`
	} `json:"result"`
}

func (r result) text() string {
	if len(r.Result.Content) != 1 {
		return ""
	}
	return r.Result.Content[0].Text
}

// post sends a body as a client of the protocol's version does.
func post(t *testing.T, to door, version, body string, edit ...func(*events.APIGatewayV2HTTPRequest)) events.APIGatewayV2HTTPResponse {
	t.Helper()
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/", Body: body, Headers: map[string]string{
		"content-type": "application/json", "accept": "application/json, text/event-stream",
	}}
	if version != "" {
		e.Headers["mcp-protocol-version"] = version
	}
	e.RequestContext.HTTP.Method = http.MethodPost
	for _, f := range edit {
		f(&e)
	}
	r, err := to(t.Context(), e)
	check.Must(t, err)
	return r
}

// call calls the tool under a JSON-RPC id, with the arguments and the members of _meta
// as JSON texts.
func call(t *testing.T, to door, id, arguments, meta string, edit ...func(*events.APIGatewayV2HTTPRequest)) result {
	t.Helper()
	response := post(t, to, "2025-06-18", callOf(id, arguments, meta), edit...)
	var r result
	if err := json.Unmarshal([]byte(response.Body), &r); err != nil || response.StatusCode != http.StatusOK || len(r.Error) > 0 {
		t.Fatalf("%v: %+v", err, response)
	}
	check.Equal(t, string(r.ID), id, "the id")
	return r
}

func callOf(id, arguments, meta string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"refund","arguments":` + arguments + `,"_meta":{` + meta + `}}}`
}

func header(name, value string) func(*events.APIGatewayV2HTTPRequest) {
	return func(e *events.APIGatewayV2HTTPRequest) { e.Headers[name] = value }
}

func subject(sub string) func(*events.APIGatewayV2HTTPRequest) {
	return func(e *events.APIGatewayV2HTTPRequest) {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": sub}},
		}
	}
}

// refused checks that an answer is a refusal that says so, and whether to wait.
func refused(t *testing.T, r result, says string, waits bool) {
	t.Helper()
	check.True(t, r.Result.IsError && r.Result.Structured == nil, "is no refusal", r.text(), string(r.Result.Structured))
	check.Contains(t, r.text(), says)
	_, ok := r.Result.Meta["once/retryAfterSeconds"]
	check.Equal(t, ok, waits, "has the seconds to wait", r.text())
	check.Equal(t, strings.Contains(r.text(), "Wait"), waits, r.text())
}

const arguments = `{"order":"o-1","amount":9007199254740993,"reason":"late"}`
