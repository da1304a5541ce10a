package oncevet

import (
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// contexts reports contexts that handlers make themselves. A deferred call or a goroutine
// may need one that outlives the handler's.
func contexts(c *code, report report) {
	isApart := func(n ast.Node) bool {
		_, isDefer := n.(*ast.DeferStmt)
		_, isGo := n.(*ast.GoStmt)
		return isDefer || isGo
	}
	for call, s := range c.running {
		name := c.callee(call)
		if name != "context.Background" && name != "context.TODO" || !c.takes(s.fn.typ, "context.Context", "net/http.Request") || slices.ContainsFunc(s.stack, isApart) {
			continue
		}
		report(call.Pos(), "%s in place of the handler's context: what receives it belongs to no call and has no deadline, so it has no step, no transaction and no downstream key, "+
			"and can run past the lease. Pass the handler's ctx, or context.WithoutCancel(ctx)", name)
	}
}

// executors reports executors that are made once an invocation: in handlers, and in the
// function of lambda.Start.
func executors(c *code, report report) {
	spots := slices.Clone(c.spots)
	for _, call := range c.calls {
		if strings.HasPrefix(c.callee(call), "github.com/aws/aws-lambda-go/lambda.Start") {
			spots = append(spots, c.walk(&handler{fns: c.functions(call.Args[0])})...)
		}
	}
	for _, s := range spots {
		if c.calling("idempotent.New", "powertools.NewExecutor")(s.node) {
			report(s.node.Pos(), "each invocation makes an executor: its cache is always empty, calls at the same time share nothing, and a mistake in its configuration "+
				"shows at the first request and not at the deployment. Make it once, in main or in a package variable")
		}
	}
}

// optimistic reports handlers of optimistic executors that use steps or keys of the call, which
// such a run refuses, or no transaction. A function that is not seen may use one.
func optimistic(c *code, report report) {
	maybe, is := map[*handler]bool{}, map[*handler]bool{}
	for _, h := range c.handlers {
		is[h] = h.x != nil && len(h.fns) > 0 && c.is(h.x, c.isOptimistic)
	}
	for call, s := range c.running {
		switch name := c.once(call); name {
		case "dynamo.Collect", "postgres.Collect", "postgres.Transaction":
			maybe[s.h] = true
		case "idempotent.Step", "idempotent.SagaStep", "idempotent.DownstreamKey", "idempotent.ChainKey":
			if is[s.h] {
				report(call.Pos(), "%s under Config.Optimistic: such a run has no claim, so the call is refused. Leave Optimistic out, or use a transaction alone", name)
			}
		default:
			takesCtx := slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return isNamed(c.info.TypeOf(arg), "context.Context") })
			maybe[s.h] = maybe[s.h] || takesCtx && len(c.functions(call.Fun)) == 0 && c.sends(call) == "" && !strings.HasPrefix(c.callee(call), "context.")
		}
	}
	for _, h := range c.handlers {
		if is[h] && !maybe[h] {
			report(h.call.Pos(), "Config.Optimistic with a handler that adds nothing to a transaction: without a claim, calls at the same time all have its effects. "+
				"Write them with dynamo.Collect or postgres.Collect, or leave Optimistic out")
		}
	}
}

// isOptimistic reports whether a node makes an executor with this setting, in a literal.
func (c *code) isOptimistic(n ast.Node) bool {
	return c.once(n) == "idempotent.New" && c.is(n.(*ast.CallExpr).Args[2], func(n ast.Node) bool {
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
	for call, s := range c.running {
		f := typeutil.Callee(c.info, call)
		if f != nil && f.Pkg() != nil && strings.Contains(f.Pkg().Path(), "aws-durable-execution-sdk-go") {
			report(call.Pos(), "durable operation %s in a handler of %s: when the execution is suspended here, the call takes it for an error and releases the key, and another execution runs. "+
				"Protect the whole function with durablefunc.Wrap, or make the call within the durable step", f.Name(), s.h.name)
		}
	}
}
