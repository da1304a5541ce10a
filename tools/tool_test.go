package tools_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/tools"
)

type unencodable struct {
	ID string `json:"id"`
}

func (unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

// An error would have the work repeated.
func TestAResultThatDoesNotEncodeIsNotMadeAgain(t *testing.T) {
	x, err := idempotent.New("op", memory.New(0), &idempotent.Config{Observer: idempotent.NoObserver{}})
	check.Must(t, err)
	runs := 0
	tool := tools.New(x, &mcp.Tool{Name: "refund"}, byOrder, func(context.Context, refund) (unencodable, error) {
		runs++
		return unencodable{}, nil
	})
	to := tools.MCP(tools.NoIdentity(), nil, tool)
	for range 2 {
		refused(t, call(t, to, `1`, arguments, ""), "The tool has run, and its result is not available", false)
	}
	check.Equal(t, runs, 1, "runs")
}

func TestAKeyFunctionNamesNoOwner(t *testing.T) {
	for _, key := range []idempotent.Key{{Scope: "s", ID: "1"}, {Record: "r"}} {
		d := newDesk(t, func(refund) (idempotent.Key, error) { return key, nil })
		refused(t, call(t, tools.MCP(tools.NoIdentity(), nil, d.tool), `1`, arguments, ""), "cannot be identified", false)
		d.ran(0)
	}
}

func TestAKeyFunctionsErrorFailsTheCallAndKeepsItsText(t *testing.T) {
	d := newDesk(t, func(refund) (idempotent.Key, error) { return idempotent.Key{}, errors.New("secret") })
	to := tools.MCP(tools.NoIdentity(), nil, d.tool)
	for _, meta := range []string{"", `"idempotencyKey":"k"`} {
		refused(t, call(t, to, `1`, arguments, meta), "The call failed.", false)
	}
	d.ran(0)
}

func TestWrongDeclarationsAreConfigErrors(t *testing.T) {
	x, err := idempotent.New("op", memory.New(0), nil)
	check.Must(t, err)
	resumes, err := idempotent.New("op", memory.New(0), &idempotent.Config{Resume: true})
	check.Must(t, err)
	ok := func(context.Context, refund) (receipt, error) { return receipt{}, nil }
	tool := func(name string) *tools.Tool { return tools.New(x, &mcp.Tool{Name: name}, byOrder, ok) }
	for says, declare := range map[string]func(){
		"the executor is nil":   func() { tools.New(nil, &mcp.Tool{Name: "t"}, byOrder, ok) },
		"Config.Resume":         func() { tools.New(resumes, &mcp.Tool{Name: "t"}, byOrder, ok) },
		"the function is nil":   func() { tools.New[refund, receipt](x, &mcp.Tool{Name: "t"}, byOrder, nil) },
		"the tool needs a name": func() { tool("") },
		"result must be a struct": func() {
			tools.New(x, &mcp.Tool{Name: "t"}, byOrder, func(context.Context, refund) (string, error) { return "", nil })
		},
		"no exported field": func() {
			tools.New(x, &mcp.Tool{Name: "t"}, byOrder, func(context.Context, refund) (struct{}, error) { return struct{}{}, nil })
		},
		"input must be a struct": func() {
			tools.New(x, &mcp.Tool{Name: "t"}, nil, func(context.Context, []int) (receipt, error) { return receipt{}, nil })
		},
		"result has no schema": func() {
			tools.New(x, &mcp.Tool{Name: "t"}, byOrder, func(context.Context, refund) (chan int, error) { return nil, nil })
		},
		"schema of type string": func() { tools.New(x, &mcp.Tool{Name: "t", InputSchema: "{}"}, byOrder, ok) },
		"schema cannot be used": func() {
			tools.New(x, &mcp.Tool{Name: "t", InputSchema: &jsonschema.Schema{Type: "object", Ref: "#/$defs/none"}}, byOrder, ok)
		},
		"MCP: the Scope is missing": func() { tools.MCP(tools.Scope{}, nil, tool("t")) },
		"there are no tools":        func() { tools.Gateway(tools.NoIdentity()) },
		"two tools have the name t": func() { tools.ActionGroup(tools.NoIdentity(), tool("t"), tool("t")) },
		"does not come from New":    func() { tools.MCP(tools.NoIdentity(), nil, &tools.Tool{}) },
		"ScopeFunc":                 func() { tools.ScopeFunc(nil) },
	} {
		func() {
			defer func() {
				mistake, ok := recover().(error)
				check.True(t, ok, says)
				check.As[*driver.ConfigError](t, mistake, says)
				check.Says(t, mistake, says)
			}()
			declare()
		}()
	}
}

// A status is read anew at each call.
func TestAToolThatReadsRunsAtEachCall(t *testing.T) {
	runs := 0
	tool := tools.Read(&mcp.Tool{Name: "refund"}, func(ctx context.Context, r refund) (receipt, error) {
		runs++
		if runs == 3 {
			return receipt{}, errors.New("secret")
		}
		return receipt{ID: tools.CallerOf(ctx).Claims["sub"], Amount: int64(runs)}, nil
	})
	to := tools.MCP(tools.NoIdentity(), nil, tool)
	check.Equal(t, call(t, to, `1`, arguments, "", subject("ada")).text(), `{"id":"ada","order":"","amount":1}`)
	check.Equal(t, call(t, to, `2`, arguments, "", subject("eve")).text(), `{"id":"eve","order":"","amount":2}`)
	refused(t, call(t, to, `3`, arguments, ""), "The tool failed. Call it again.", true)
	refused(t, call(t, to, `4`, `{}`, ""), "do not fit the tool's schema", false)
	check.Contains(t, post(t, to, "2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body, `"readOnlyHint":true`)
	check.Equal(t, runs, 3, "runs")
}

func TestAToolKnowsItsCaller(t *testing.T) {
	d := newDesk(t, byOrder)
	d.work = func(ctx context.Context, _ refund) (receipt, error) {
		return receipt{ID: tools.CallerOf(ctx).Claims["sub"]}, nil
	}
	check.Contains(t, call(t, tools.MCP(tools.NoIdentity(), nil, d.tool), `1`, arguments, "", subject("ada")).text(), `"ada"`)
	check.Equal(t, tools.CallerOf(t.Context()).UserARN, "", "of a context without one")
}
