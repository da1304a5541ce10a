package oncevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// transactions reports transactions that are used, or kept, past their handler.
func transactions(c *code, report report) {
	const then = "its methods panic or fail after the handler has returned, and the write is lost. "
	for _, s := range c.spots {
		switch n := s.node.(type) {
		case *ast.GoStmt:
			if waits(s.f) {
				continue
			}
			ast.Inspect(n, func(inner ast.Node) bool {
				if e, ok := inner.(ast.Expr); ok && c.isTransaction(e) {
					report(e.Pos(), "a goroutine that the handler does not wait for uses the transaction of the record: "+then+"Add the writes before the handler returns, or wait")
					return false
				}
				return true
			})
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && c.isTransaction(n.Rhs[i]) && c.outlives(left, s.f) {
					report(left.Pos(), "the transaction of the record is kept in a variable that outlives the handler: "+then+"Take it from the handler's context where it is used")
				}
			}
		}
	}
}

// waits reports whether a function waits for anything, which may be its goroutines.
func waits(f function) (found bool) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Wait"
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// isTransaction reports whether an expression is the transaction of a record.
func (c *code) isTransaction(e ast.Expr) bool {
	t := c.info.TypeOf(e)
	if t == nil || c.info.Types[e].IsType() {
		return false
	}
	return isNamed(t, "dynamo.Tx") || isNamed(t, "postgres.Tx") || strings.HasSuffix(t.String(), "pgx/v5.Tx") && c.is(e, c.calling("postgres.Transaction"))
}

// outlives reports whether an assignment in a handler is to a variable that was there
// before it: of the package, of the function around it, or of its receiver.
func (c *code) outlives(left ast.Expr, f function) bool {
	root := c.root(left)
	if root == nil || root.Parent() == c.pkg.Scope() {
		return root != nil
	}
	d, ok := f.node.(*ast.FuncDecl)
	isReceiver := ok && d.Recv != nil && contains(d.Recv, root) && isA[*types.Pointer](root.Type())
	return contains(f.node, left) && (isReceiver || !contains(f.node, root)) // otherwise in a function that the handler calls
}
