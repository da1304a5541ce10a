package oncevet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// object returns what a name stands for: of x.f the field or method f.
func (c *code) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return c.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return c.info.ObjectOf(e.Sel)
	}
	return nil
}

// root returns the variable that x.f[i].g is a part of.
func (c *code) root(e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ := c.info.ObjectOf(e).(*types.Var)
		return v
	case *ast.SelectorExpr:
		if c.info.Selections[e] == nil {
			return c.root(e.Sel)
		}
		return c.root(e.X)
	case *ast.IndexExpr:
		return c.root(e.X)
	case *ast.StarExpr:
		return c.root(e.X)
	case *ast.UnaryExpr:
		return c.root(e.X)
	}
	return nil
}

// text returns a constant string, or "".
func (c *code) text(e ast.Expr) string {
	if v := c.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// callee returns the full name of the function that a call names: "net/http.Post",
// "(*database/sql.DB).Exec".
func (c *code) callee(call *ast.CallExpr) string {
	if f, ok := typeutil.Callee(c.info, call).(*types.Func); ok {
		return f.Origin().FullName()
	}
	return ""
}

// once returns the name of a function of Once, as "idempotent.Step", or "".
func (c *code) once(call *ast.CallExpr) string {
	name, ok := strings.CutPrefix(c.callee(call), project)
	if !ok || strings.Contains(name, "internal/") {
		return ""
	}
	return name[strings.LastIndex(name, "/")+1:]
}

// A function is a declaration or a literal.
type function struct {
	node ast.Node
	typ  *ast.FuncType
	body *ast.BlockStmt
}

func (f function) params() (names []*ast.Ident) {
	for _, field := range f.typ.Params.List {
		names = append(names, field.Names...)
	}
	return names
}

// functions returns the functions of this package that an expression can stand for.
func (c *code) functions(e ast.Expr) (fns []function) {
	seen := map[types.Object]bool{}
	var find func(ast.Expr)
	find = func(e ast.Expr) {
		switch e := ast.Unparen(e).(type) {
		case *ast.FuncLit:
			fns = append(fns, function{e, e.Type, e.Body})
		case *ast.IndexExpr:
			find(e.X)
		case *ast.IndexListExpr:
			find(e.X)
		case *ast.Ident, *ast.SelectorExpr:
			o := c.object(e)
			if f, ok := o.(*types.Func); ok && c.decls[f.Origin()] != nil {
				d := c.decls[f.Origin()]
				fns = append(fns, function{d, d.Type, d.Body})
			} else if !seen[o] {
				seen[o] = true
				for _, value := range c.sets[o] {
					find(value)
				}
			}
		case *ast.CallExpr: // http.HandlerFunc(f), or a function that returns one
			if c.info.Types[e.Fun].IsType() && len(e.Args) == 1 {
				find(e.Args[0])
			} else if f, ok := typeutil.Callee(c.info, e).(*types.Func); ok && c.decls[f.Origin()] != nil && !seen[f] {
				seen[f] = true
				for _, result := range returned(c.decls[f.Origin()].Body) {
					find(result)
				}
			}
		}
	}
	find(e)
	return fns
}

// returned returns what a function returns, without the literals within it.
func returned(body *ast.BlockStmt) (results []ast.Expr) {
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			results = append(results, r.Results...)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return results
}
