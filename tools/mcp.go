package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the options of [MCP]. A nil *Options stands for all defaults.
type Options struct {
	// Implementation is the name and the version that clients read. Default: the name
	// of the Lambda function, and the version "1".
	Implementation *mcp.Implementation

	// MetaKey is the member of a request's _meta with the client's idempotency key. The
	// header Idempotency-Key of the request is read too. Default "idempotencyKey".
	MetaKey string

	// Server are the SDK's own options, such as the instructions. Default none.
	Server *mcp.ServerOptions
}

// MCP serves tools by the Model Context Protocol to a function URL in the mode BUFFERED,
// or to an API Gateway HTTP API with the payload format 2.0. The transport is streamable
// HTTP, without sessions and with responses of JSON. The official SDK speaks all released
// versions of the protocol, with and without initialize.
//
// A repetition receives the stored result under its own JSON-RPC id. Refusals are results
// with isError, and those that a later repetition may overcome have the seconds to wait in
// _meta as once/retryAfterSeconds. A panic of a tool releases its key and goes to Lambda.
//
// The invocation bounds a call, and not the client: one that goes away has no effect on it.
//
// MCP panics with a [*driver.ConfigError] if an argument is wrong.
func MCP(scope Scope, o *Options, tools ...*Tool) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	named("MCP", scope, tools)
	if o == nil {
		o = &Options{}
	}
	implementation := o.Implementation
	if implementation == nil {
		implementation = &mcp.Implementation{Name: cmp.Or(lambdacontext.FunctionName, "once"), Version: "1"}
	}
	server := mcp.NewServer(implementation, o.Server)
	for _, t := range tools {
		addTool(server, t, scope, cmp.Or(o.MetaKey, "idempotencyKey"))
	}
	server.AddReceivingMiddleware(withoutSubscriptions)
	// PropagateRequestCancellation stays off: it would end a tool with its client.
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		v := &visit{invocation: ctx, caller: callerOf(e)}
		// With the context's end the handler would return at once, with an empty response
		// while the tool still runs.
		response := respond(context.WithValue(context.WithoutCancel(ctx), visitKey{}, v), handler, e, v.caller.Header)
		if panicked := v.panicked.Load(); panicked != nil {
			panic(*panicked)
		}
		return response, nil
	}
}

// withoutSubscriptions refuses a request that is answered when the tools change. They do
// not, and the invocation would last until its timeout.
func withoutSubscriptions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}
		}
		return next(ctx, method, r)
	}
}

func addTool(server *mcp.Server, t *Tool, scope Scope, metaKey string) {
	server.AddTool(t.definition, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		v := ctx.Value(visitKey{}).(*visit)
		return v.serve(ctx, t, &request{arguments: r.Params.Arguments, caller: v.caller, meta: r.Params.Meta[metaKey], scope: scope}), nil
	})
}

// visit is one HTTP request.
type visit struct {
	invocation context.Context
	caller     Caller
	panicked   atomic.Pointer[string] // its value and stack
}

type visitKey struct{}

// serve runs a tool in a goroutine of the SDK, whose context has neither the deadline of
// the invocation nor anything that recovers.
func (v *visit) serve(ctx context.Context, t *Tool, r *request) (result *mcp.CallToolResult) {
	if deadline, ok := v.invocation.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n%s", p, debug.Stack())
			v.panicked.Store(&text)
			result = refuse("The tool failed.").toMCP()
		}
	}()
	return t.serve(ctx, r).toMCP()
}

// toMCP returns the answer as a result. The text of a result is its JSON, for clients
// that do not read structured content.
func (a answer) toMCP() *mcp.CallToolResult {
	var result *mcp.CallToolResult
	_, _ = a.within(mostBytes, func(a answer) ([]byte, error) { // the SDK reports an error, too
		result = &mcp.CallToolResult{IsError: a.result == nil, Content: []mcp.Content{&mcp.TextContent{Text: string(a.result) + a.text}}}
		if a.result != nil {
			result.StructuredContent = a.result
		}
		if a.retryAfter > 0 {
			result.Meta = mcp.Meta{"once/retryAfterSeconds": a.retryAfter}
		}
		text, err := json.Marshal(result)
		if err != nil {
			return nil, err
		}
		return json.Marshal(string(text)) // Lambda returns it in a body, which is a text in JSON
	})
	return result
}
