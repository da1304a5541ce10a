package oncevet

import (
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const project = "github.com/lambda-once/once/"

// reader reads each package once, for all rules.
var reader = &analysis.Analyzer{
	Name: "oncecode", Doc: "read the handlers of a package for the rules of oncevet", ResultType: reflect.TypeFor[*code](),
	Run: func(pass *analysis.Pass) (any, error) { return read(pass), nil },
}

// code is a package that uses Once. It is empty for every other package.
type code struct {
	pkg   *types.Package
	info  *types.Info
	files []*ast.File
	decls map[types.Object]function
	calls []*ast.CallExpr
	// sets has the values that the package assigns to a variable, a field or a parameter,
	// wherever it does. flows has the further data that reaches a variable: by its fields,
	// its elements and the calls of its methods.
	sets     map[types.Object][]ast.Expr
	flows    map[types.Object][]ast.Expr
	entries  []ast.Node // functions that are called for each request
	handlers []*handler
	spots    []spot // of all handlers
}

func read(pass *analysis.Pass) *code {
	c := &code{pkg: pass.Pkg, info: pass.TypesInfo, decls: map[types.Object]function{}, sets: map[types.Object][]ast.Expr{}, flows: map[types.Object][]ast.Expr{}}
	uses := func(p *types.Package) bool { return strings.HasPrefix(p.Path(), project) }
	if !uses(pass.Pkg) && !slices.ContainsFunc(pass.Pkg.Imports(), uses) {
		return c
	}
	c.files = pass.Files
	for n := range c.nodes {
		c.note(n)
	}
	// The parameters come last, because a callee may be a variable.
	for _, call := range c.calls {
		for _, f := range c.functions(call.Fun) {
			for i, name := range f.params() {
				if i < len(call.Args) {
					c.set(name, call.Args[i])
				}
			}
		}
	}
	for _, call := range c.calls {
		if h := c.protects(call); h != nil {
			c.handlers = append(c.handlers, h)
			c.spots = append(c.spots, c.walk(h)...)
		}
	}
	return c
}

// nodes yields all nodes of the package.
func (c *code) nodes(yield func(ast.Node) bool) {
	for _, file := range c.files {
		for n := range ast.Preorder(file) {
			if !yield(n) {
				return
			}
		}
	}
}

func (c *code) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			c.decls[c.info.Defs[n.Name]] = function{n, n.Type, n.Body}
		}
		c.entry(n, n.Type)
	case *ast.FuncLit:
		c.entry(n, n.Type)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			value := n.Rhs[min(i, len(n.Rhs)-1)]
			c.set(left, value)
			if _, whole := left.(*ast.Ident); !whole {
				c.flow(left, left, value)
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) > 0 {
				c.set(name, n.Values[min(i, len(n.Values)-1)])
			}
		}
	case *ast.RangeStmt:
		c.set(n.Key, n.X)
		c.set(n.Value, n.X)
	case *ast.KeyValueExpr:
		c.set(n.Key, n.Value)
	case *ast.CallExpr:
		c.calls = append(c.calls, n)
		if s, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
			c.flow(s.X, n)
		}
	case *ast.ExprStmt: // SetChainHeaders(ctx, request.Header, name)
		if call, ok := n.X.(*ast.CallExpr); ok {
			for _, arg := range call.Args {
				c.flow(arg, call)
			}
		}
	}
}

// set notes a value of a variable, or of a field that this package declares. A field of an
// imported package has the values of all of that package's users.
func (c *code) set(left, value ast.Expr) {
	if v, ok := c.object(left).(*types.Var); ok && (!v.IsField() || v.Pkg() == c.pkg) {
		c.sets[v] = append(c.sets[v], value)
	}
}

func (c *code) flow(into ast.Expr, values ...ast.Expr) {
	if root := c.root(into); root != nil {
		c.flows[root] = append(c.flows[root], values...)
	}
}

// entry notes a function that is called for each request: it takes a context, or
// returns a key.
func (c *code) entry(n ast.Node, typ *ast.FuncType) {
	if c.takes(typ, "context.Context") || typ.Results != nil && isNamed(c.info.TypeOf(typ.Results.List[0].Type), "idempotent.Key") {
		c.entries = append(c.entries, n)
	}
}
