package oncevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// stepNames compares the names of the steps of each handler.
func stepNames(c *code, report report) {
	for _, h := range c.handlers {
		for _, f := range h.fns {
			named := map[string][]spot{}
			c.walk(f, func(n ast.Node, s spot) {
				call, ok := n.(*ast.CallExpr)
				if !ok || !c.isStep(call) {
					return
				}
				name, text := call.Args[1], c.text(call.Args[1])
				switch {
				case c.info.Types[name].Value == nil:
					if c.requested(name, f) {
						report(name.Pos(), "the name of the step is data of the request: an item that comes twice is refused, and so is an id with a colon or of more than 255 bytes. Begin it with a constant and add the item's position, fmt.Sprintf(\"ship-%%d\", i)")
					}
				case text == "":
					report(name.Pos(), "the step has no name: it is refused, and the call with it. Name it after its effect, \"charge\"")
				case s.within(repeats):
					report(name.Pos(), "the step %q is in a loop: a run may use a name once, and the second use is refused. Add the position, fmt.Sprintf(%q, i)", text, text+"-%d")
				case slices.ContainsFunc(named[text], func(first spot) bool { return follows(first, s) }):
					report(name.Pos(), "the step %q has the name of one before it in this handler: a run may use a name once, and the second use is refused. Give each step its own name", text)
				}
				named[text] = append(named[text], s)
			})
		}
	}
}

// requested reports whether a value is a part of the handler's request, as it is.
func (c *code) requested(e ast.Expr, f function) bool {
	seen := map[*types.Var]bool{}
	var is func(ast.Expr) bool
	is = func(e ast.Expr) bool {
		root := c.root(e)
		if root == nil || seen[root] {
			return false
		}
		seen[root] = true
		if slices.IndexFunc(f.params(), func(name *ast.Ident) bool { return c.info.Defs[name] == root }) > 0 {
			return true
		}
		return len(c.sets[root]) == 1 && is(c.sets[root][0])
	}
	return is(e)
}

// repeats reports whether a node is a loop that continues after a step has succeeded. One
// that can stop may be a retry, which uses a name again.
func repeats(n ast.Node) bool {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
	default:
		return false
	}
	stops := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt:
			stops = stops || n.Tok != token.CONTINUE
		case *ast.BinaryExpr:
			stops = stops || n.Op == token.EQL && isNil(n.Y)
		}
		return !stops
	})
	return !stops
}

// follows reports whether a run that passes the first spot also passes the second, and
// not only after an error.
func follows(first, second spot) bool {
	i := 0
	for i < min(len(first.stack), len(second.stack)) && first.stack[i] == second.stack[i] {
		i++
	}
	for j, around := range second.stack {
		if s, ok := around.(*ast.IfStmt); ok && failed(s) && j+1 < len(second.stack) && second.stack[j+1] == ast.Node(s.Body) {
			return false
		}
	}
	return first.step == second.step && !slices.ContainsFunc(first.stack[i:], func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return true
		}
		return false
	})
}

// failed reports whether an if asks for an error.
func failed(s *ast.IfStmt) bool {
	b, ok := s.Cond.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isNil(b.Y)
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}
