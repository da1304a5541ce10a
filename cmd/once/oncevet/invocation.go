package oncevet

import (
	"go/ast"
	"slices"
	"strings"
)

// contexts reports contexts that handlers make themselves. A deferred call or a goroutine
// may need one that outlives the handler's.
func contexts(c *code, report report) {
	c.each(func(_ *handler, call *ast.CallExpr, s spot) {
		name := c.callee(call)
		if name != "context.Background" && name != "context.TODO" || !c.takes(s.fn, "context.Context", "net/http.Request") || slices.ContainsFunc(s.stack, isApart) {
			return
		}
		report(call.Pos(), "%s in place of the handler's context: what receives it belongs to no call and has no deadline, so it has no step, no transaction and no downstream key, "+
			"and can run past the lease. Pass the handler's ctx, or context.WithoutCancel(ctx)", name)
	})
}

func isApart(n ast.Node) bool {
	_, isDefer := n.(*ast.DeferStmt)
	_, isGo := n.(*ast.GoStmt)
	return isDefer || isGo
}

// executors reports executors that are made where invocations run: in handlers, and in
// what lambda.Start calls.
func executors(c *code, report report) {
	find := func(fns []function) {
		for _, f := range fns {
			c.walk(f, func(n ast.Node, _ spot) {
				if call, ok := n.(*ast.CallExpr); ok && (c.once(call) == "idempotent.New" || c.once(call) == "powertools.NewExecutor") {
					report(call.Pos(), "each invocation makes an executor: its cache is always empty, calls at the same time share nothing, and a mistake in its configuration "+
						"shows at the first request and not at the deployment. Make it once, in main or in a package variable")
				}
			})
		}
	}
	for _, h := range c.handlers {
		find(h.fns)
	}
	for _, call := range c.calls {
		if strings.HasPrefix(c.callee(call), "github.com/aws/aws-lambda-go/lambda.Start") {
			find(c.serving(call.Args[0]))
		}
	}
}
