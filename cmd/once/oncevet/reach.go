package oncevet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// flowsFrom and is follow a value back through the package. flowsFrom reports whether a hit
// may be a part of it: it sees more than there is, and serves to accept code.
func (c *code) flowsFrom(e ast.Node, hit func(ast.Node) bool) bool { return c.reach(e, false, hit) }

// is reports whether a value is a hit, or made of one by functions that only convert. It
// sees less than there is, and serves to report code.
func (c *code) is(e ast.Node, hit func(ast.Node) bool) bool { return c.reach(e, true, hit) }

func (c *code) reach(e ast.Node, strict bool, hit func(ast.Node) bool) (found bool) {
	seen := map[any]bool{} // variables, and functions by their nodes
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		if found = found || n != nil && hit(n); found {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return !strict
		case *ast.CallExpr:
			for _, f := range c.functions(n.Fun) {
				if !seen[f.node] {
					seen[f.node] = true
					for _, result := range returned(f.body) {
						ast.Inspect(result, visit)
					}
				}
			}
			return !strict || c.info.Types[n.Fun].IsType() || converting.MatchString(c.callee(n))
		case *ast.SelectorExpr:
			s := c.info.Selections[n]
			return !strict || s == nil || s.Kind() != types.FieldVal // each value of the type has its own
		case *ast.Ident:
			v, ok := c.info.ObjectOf(n).(*types.Var)
			if !ok || seen[v] || isNamed(v.Type(), "context.Context") || strict && len(c.sets[v]) != 1 {
				return true
			}
			seen[v] = true
			for _, value := range c.sets[v] {
				ast.Inspect(value, visit)
			}
			for _, put := range c.flows[v] {
				if !strict {
					ast.Inspect(put, visit)
				}
			}
		}
		return true
	}
	ast.Inspect(e, visit)
	return found
}

// converting are functions whose result is made of their arguments alone.
var converting = regexp.MustCompile(`^\(?\*?(fmt\.Sprint|strconv\.|strings\.|time\.|math[./]|encoding/hex\.|crypto/sha256\.|github\.com/google/uuid\.|github\.com/aws/aws-sdk-go-v2/aws\.)`)

// keyed reports whether a key of the call, or one that the function receives, flows into
// an expression.
func (c *code) keyed(e ast.Expr) bool {
	makers := []string{"idempotent.DownstreamKey", "idempotent.ChainKey", "idempotent.FromContext", "handlers.ChainAttributes", "handlers.ChainDetail", "httpapi.SetChainHeaders"}
	return !isNamed(c.info.TypeOf(e), "context.Context") && c.flowsFrom(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return slices.Contains(makers, c.once(n))
		case *ast.Ident:
			v, ok := c.info.ObjectOf(n).(*types.Var)
			return ok && isNamed(v.Type(), "idempotent.Key") || ok && !v.IsField() && isString(v.Type()) && len(c.sets[v]) == 0 && strings.HasSuffix(strings.ToLower(n.Name), "key")
		}
		return false
	})
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
