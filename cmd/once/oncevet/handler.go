package oncevet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// A handler is a function that a call of Once protects.
type handler struct {
	name string // of Once's function, "idempotent.Wrap"
	call *ast.CallExpr
	x    ast.Expr // the executor, or nil
	key  ast.Expr // the key or its function, or nil
	fns  []function
}

// protects returns the handler of a call, or nil. Any function of Once that takes an
// executor protects the functions that it takes along with it. durablefunc is left out:
// its function is a log of steps.
func (c *code) protects(call *ast.CallExpr) *handler {
	h := &handler{name: c.once(call), call: call}
	args := call.Args
	if inner, ok := call.Fun.(*ast.CallExpr); ok && c.once(inner) == "httpapi.Middleware" { // Middleware(x, scope, o)(next)
		h.name, args = c.once(inner), slices.Concat(inner.Args, args)
	}
	if h.name == "" || strings.HasPrefix(h.name, "durablefunc.") {
		return nil
	}
	for _, arg := range args {
		switch t := c.info.TypeOf(arg); {
		case isNamed(t, "idempotent.Executor"):
			h.x = arg
		case isNamed(t, "idempotent.Key"):
			h.key = arg
		case takesContext(t) || hasMethod(t, "ServeHTTP"):
			h.fns = append(h.fns, c.serving(arg)...)
		case isFunc(t) && h.key == nil:
			h.key = arg
		}
	}
	if h.x == nil && h.name != "dynamoenv.Start" {
		return nil
	}
	return h
}

// serving returns the functions of a handler: itself, or its method ServeHTTP.
func (c *code) serving(e ast.Expr) []function {
	method, _, _ := types.LookupFieldOrMethod(c.info.TypeOf(e), true, c.pkg, "ServeHTTP")
	if f, ok := method.(*types.Func); ok && c.decls[f.Origin()] != nil {
		d := c.decls[f.Origin()]
		return []function{{d, d.Type, d.Body}}
	}
	return c.functions(e)
}

// isNamed reports whether t, or what it points to, has a name: "idempotent.Key" of Once,
// "context.Context" of others.
func isNamed(t types.Type, name string) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	full := n.Obj().Pkg().Path() + "." + n.Obj().Name()
	return full == name || full == project+name
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

func takesContext(t types.Type) bool {
	s, ok := t.Underlying().(*types.Signature)
	return ok && s.Params().Len() > 0 && isNamed(s.Params().At(0).Type(), "context.Context")
}

func hasMethod(t types.Type, name string) bool {
	f, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	_, ok := f.(*types.Func)
	return ok
}
