package oncevet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// optimistic reports handlers of optimistic executors that use what such a run refuses,
// or no transaction. A function that is not seen may use one.
func optimistic(c *code, report report) {
	for _, h := range c.handlers {
		if h.x == nil || len(h.fns) == 0 || !c.is(h.x, c.isOptimistic) {
			continue
		}
		maybe := false
		for _, f := range h.fns {
			c.walk(f, func(n ast.Node, _ spot) {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return
				}
				switch name := c.once(call); name {
				case "dynamo.Collect", "postgres.Collect", "postgres.Transaction":
					maybe = true
				case "idempotent.Step", "idempotent.SagaStep", "idempotent.DownstreamKey", "idempotent.ChainKey":
					report(call.Pos(), "%s under Config.Optimistic: such a run has no claim, so the call is refused. Leave Optimistic out, or use a transaction alone", name)
				default:
					takesCtx := slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return isNamed(c.info.TypeOf(arg), "context.Context") })
					maybe = maybe || takesCtx && len(c.functions(call.Fun)) == 0 && c.operation(call) == "" && !strings.HasPrefix(c.callee(call), "context.")
				}
			})
		}
		if !maybe {
			report(h.call.Pos(), "Config.Optimistic with a handler that adds nothing to a transaction: without a claim, calls at the same time all have its effects. "+
				"Write them with dynamo.Collect or postgres.Collect, or leave Optimistic out")
		}
	}
}

// isOptimistic reports whether a node makes an executor with this setting, in a literal.
func (c *code) isOptimistic(n ast.Node) bool {
	made, ok := n.(*ast.CallExpr)
	return ok && c.once(made) == "idempotent.New" && c.is(made.Args[2], func(n ast.Node) bool {
		field, ok := n.(*ast.KeyValueExpr)
		if !ok || !c.isField("Optimistic")(field.Key) {
			return false
		}
		value := c.info.Types[field.Value].Value
		return value != nil && value.String() == "true"
	})
}

// durables reports operations of a durable execution in a call that is not in one of its
// steps.
func durables(c *code, report report) {
	c.each(func(h *handler, call *ast.CallExpr, _ spot) {
		f, ok := typeutil.Callee(c.info, call).(*types.Func)
		if ok && f.Pkg() != nil && strings.Contains(f.Pkg().Path(), "aws-durable-execution-sdk-go") {
			report(call.Pos(), "durable operation %s in a handler of %s: when the execution is suspended here, the call takes it for an error and releases the key, and another execution runs. "+
				"Protect the whole function with durablefunc.Wrap, or make the call within the durable step", f.Name(), h.name)
		}
	})
}
