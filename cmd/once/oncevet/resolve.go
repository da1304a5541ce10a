package oncevet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// object returns the object of a name: of x.f the field or method f.
func (c *code) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return c.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return c.info.ObjectOf(e.Sel)
	}
	return nil
}

// variable returns the variable or the field that a node stands for, or nil.
func (c *code) variable(n ast.Node) *types.Var {
	e, _ := n.(ast.Expr)
	v, _ := c.object(e).(*types.Var)
	return v
}

// root returns the variable that x.f[i].g is a part of.
func (c *code) root(e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if c.info.Selections[e] == nil {
			return c.variable(e)
		}
		return c.root(e.X)
	case *ast.IndexExpr:
		return c.root(e.X)
	case *ast.StarExpr:
		return c.root(e.X)
	case *ast.UnaryExpr:
		return c.root(e.X)
	default:
		return c.variable(e)
	}
}

// text returns a constant string, or "".
func (c *code) text(e ast.Expr) string {
	if v := c.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// callee returns the full name of the function that a node calls: "net/http.Post",
// "(*database/sql.DB).Exec", or "".
func (c *code) callee(n ast.Node) string {
	if call, ok := n.(*ast.CallExpr); ok {
		if f, ok := typeutil.Callee(c.info, call).(*types.Func); ok {
			return f.Origin().FullName()
		}
	}
	return ""
}

// once returns the name of a function of Once that a node calls, as "idempotent.Step", or "".
func (c *code) once(n ast.Node) string {
	name, ok := strings.CutPrefix(c.callee(n), project)
	if !ok || strings.Contains(name, "internal/") {
		return ""
	}
	return name[strings.LastIndex(name, "/")+1:]
}

// calling returns a function that reports whether a node calls one of these functions of Once.
func (c *code) calling(names ...string) func(ast.Node) bool {
	return func(n ast.Node) bool { return slices.Contains(names, c.once(n)) }
}

// isField returns a function that reports whether a node is the name of one of the fields.
func (c *code) isField(names ...string) func(ast.Node) bool {
	return func(n ast.Node) bool {
		v := c.variable(n)
		return v != nil && v.IsField() && slices.Contains(names, v.Name())
	}
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

// returned lists the results of a function's return statements, without those of literals within it.
func (f function) returned() (results []ast.Expr) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			results = append(results, r.Results...)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return results
}

// declared returns the declaration of a function or method of this package.
func (c *code) declared(o types.Object) (function, bool) {
	if f, ok := o.(*types.Func); ok {
		o = f.Origin()
	}
	f, ok := c.decls[o]
	return f, ok
}

// functions returns the functions of this package that an expression can stand for: of
// an http.Handler its method.
func (c *code) functions(e ast.Expr) (fns []function) {
	seen := map[ast.Expr]bool{}
	var find func(...ast.Expr)
	find = func(values ...ast.Expr) {
		for _, e := range values {
			e = ast.Unparen(e)
			f, ok := c.declared(method(c.info.TypeOf(e), "ServeHTTP"))
			if !ok {
				f, ok = c.declared(c.object(e))
			}
			if ok {
				fns = append(fns, f)
			}
			if ok || seen[e] {
				continue
			}
			seen[e] = true
			switch e := e.(type) {
			case *ast.FuncLit:
				fns = append(fns, function{e, e.Type, e.Body})
			case *ast.IndexExpr:
				find(e.X)
			case *ast.IndexListExpr:
				find(e.X)
			case *ast.CallExpr: // http.HandlerFunc(f), or a function that returns one
				if f, ok := c.declared(typeutil.Callee(c.info, e)); ok {
					find(f.returned()...)
				} else if c.info.Types[e.Fun].IsType() {
					find(e.Args...)
				}
			default:
				find(c.sets[c.object(e)]...)
			}
		}
	}
	find(e)
	return fns
}

// flowsFrom and is follow a value back through the package. flowsFrom reports whether a hit
// may be a part of it: it sees more than there is, and serves to accept code.
func (c *code) flowsFrom(e ast.Node, hit func(ast.Node) bool) bool { return c.reach(e, false, hit) }

// is reports whether a value is a hit, or made of one by functions that only convert. It
// sees less than there is, and serves to report code.
func (c *code) is(e ast.Node, hit func(ast.Node) bool) bool { return c.reach(e, true, hit) }

func (c *code) reach(e ast.Node, strict bool, hit func(ast.Node) bool) (found bool) {
	seen := map[ast.Expr]bool{}
	var visit func(ast.Node) bool
	follow := func(values []ast.Expr) {
		for _, value := range values {
			if !seen[value] {
				seen[value] = true
				ast.Inspect(value, visit)
			}
		}
	}
	visit = func(n ast.Node) bool {
		if found = found || n != nil && hit(n); found {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return !strict
		case *ast.CallExpr:
			for _, f := range c.functions(n.Fun) {
				follow(f.returned())
			}
			return !strict || c.info.Types[n.Fun].IsType() || converting.MatchString(c.callee(n))
		case *ast.SelectorExpr:
			s := c.info.Selections[n]
			return !strict || s == nil || s.Kind() != types.FieldVal // each value of the type has its own
		case *ast.Ident:
			v := c.variable(n)
			if v == nil || isNamed(v.Type(), "context.Context") || strict && len(c.sets[v]) != 1 {
				return true
			}
			follow(c.sets[v])
			if !strict {
				follow(c.flows[v])
			}
		}
		return true
	}
	ast.Inspect(e, visit)
	return found
}

// converting are functions whose result is made of their arguments alone.
var converting = regexp.MustCompile(`^\(?\*?(fmt\.Sprint|strconv\.|strings\.|time\.|math[./]|encoding/hex\.|crypto/sha256\.|github\.com/google/uuid\.|github\.com/aws/aws-sdk-go-v2/aws\.)`)
