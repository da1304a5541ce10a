package oncevet

import (
	"go/ast"
	"slices"
)

// A spot is where a walk through a handler is.
type spot struct {
	handler, fn function      // the handler, and the function of the package that is running in it
	step        *ast.CallExpr // the step that it runs in
	stack       []ast.Node    // what is around it, from the handler's body on, through calls and steps
}

// within reports whether a node is around the spot, in the same step.
func (s spot) within(is func(ast.Node) bool) bool {
	i := slices.Index(s.stack, ast.Node(s.step))
	return slices.ContainsFunc(s.stack[i+1:], is)
}

// walk visits the code that a handler runs: its own, that of its steps, and that of the
// functions of this package which it calls. A function that a call of Once within protects
// is a handler for itself.
func (c *code) walk(f function, visit func(ast.Node, spot)) {
	type visited struct {
		body  *ast.BlockStmt
		steps bool
	}
	seen := map[visited]bool{}
	var into func(function, spot)
	into = func(f function, s spot) {
		if v := (visited{f.body, s.step != nil}); seen[v] {
			return
		} else {
			seen[v] = true
		}
		ast.PreorderStack(f.body, s.stack, func(n ast.Node, stack []ast.Node) bool {
			at := spot{s.handler, f, s.step, slices.Clone(stack)}
			visit(n, at)
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at.stack = append(at.stack, call)
			if c.isStep(call) {
				at.step = call
				for _, arg := range call.Args[2:] {
					for _, fn := range c.functions(arg) {
						into(fn, at)
					}
				}
				return false
			}
			if c.protects(call) != nil {
				return false
			}
			// A variable with several functions is not followed, as each has callers of its own.
			// A function that takes a testing.TB is no handler's.
			if fns := c.functions(call.Fun); len(fns) == 1 && fns[0].node != ast.Unparen(call.Fun) && !c.takes(fns[0], "testing.T", "testing.TB", "testing.B") {
				into(fns[0], at)
			}
			return true
		})
	}
	into(f, spot{handler: f})
}

// takes reports whether a function has a parameter of one of the types.
func (c *code) takes(f function, names ...string) bool {
	return slices.ContainsFunc(f.typ.Params.List, func(field *ast.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return isNamed(c.info.TypeOf(field.Type), name) })
	})
}

func (c *code) isStep(call *ast.CallExpr) bool {
	name := c.once(call)
	return name == "idempotent.Step" || name == "idempotent.SagaStep"
}

// each visits the calls in all handlers.
func (c *code) each(visit func(*handler, *ast.CallExpr, spot)) {
	for _, h := range c.handlers {
		for _, f := range h.fns {
			c.walk(f, func(n ast.Node, s spot) {
				if call, ok := n.(*ast.CallExpr); ok {
					visit(h, call, s)
				}
			})
		}
	}
}
