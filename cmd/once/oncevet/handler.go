package oncevet

import (
	"go/ast"
	"go/token"
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
		case takesContext(t) || method(t, "ServeHTTP") != nil:
			h.fns = append(h.fns, c.functions(arg)...)
		case isA[*types.Signature](t) && h.key == nil:
			h.key = arg
		}
	}
	if h.x == nil && h.name != "dynamoenv.Start" {
		return nil
	}
	return h
}

// A spot is a node of the code that a handler runs.
type spot struct {
	node  ast.Node
	h     *handler
	f, fn function      // of the handler, and the one of the package that is running in it
	step  *ast.CallExpr // the step that it runs in
	stack []ast.Node    // what is around it, from the handler's body on, through calls and steps
}

// walk returns the code that a handler runs: its own, that of its steps, and that of the
// functions of this package which it calls. A function that a call of Once within protects
// is a handler for itself.
func (c *code) walk(h *handler) (spots []spot) {
	type visit struct {
		f, fn ast.Node
		step  bool
	}
	seen := map[visit]bool{}
	var into func(spot)
	into = func(s spot) {
		if v := (visit{s.f.node, s.fn.node, s.step != nil}); seen[v] {
			return
		} else {
			seen[v] = true
		}
		ast.PreorderStack(s.fn.body, s.stack, func(n ast.Node, stack []ast.Node) bool {
			s.node, s.stack = n, slices.Clone(stack)
			spots = append(spots, s)
			call, ok := n.(*ast.CallExpr)
			if !ok || c.protects(call) != nil {
				return !ok
			}
			// A variable with several functions is not followed, as each has callers of its own.
			// A function that takes a testing.TB is no handler's.
			next, fns := s, c.functions(call.Fun)
			if len(fns) != 1 || fns[0].node == ast.Unparen(call.Fun) || c.takes(fns[0].typ, "testing.T", "testing.TB", "testing.B") {
				fns = nil
			}
			if c.isStep(call) {
				next.step = call
				for _, arg := range call.Args[2:] {
					fns = append(fns, c.functions(arg)...)
				}
			}
			next.stack = append(next.stack, call)
			for _, next.fn = range fns {
				into(next)
			}
			return !c.isStep(call)
		})
	}
	for _, f := range h.fns {
		into(spot{h: h, f: f, fn: f})
	}
	return spots
}

// running yields the calls in the code that handlers run.
func (c *code) running(yield func(*ast.CallExpr, spot) bool) {
	for _, s := range c.spots {
		if call, ok := s.node.(*ast.CallExpr); ok && !yield(call, s) {
			return
		}
	}
}

func (c *code) isStep(n ast.Node) bool {
	return c.calling("idempotent.Step", "idempotent.SagaStep")(n)
}

// takes reports whether a function has a parameter of one of the types.
func (c *code) takes(f *ast.FuncType, names ...string) bool {
	return slices.ContainsFunc(f.Params.List, func(field *ast.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return isNamed(c.info.TypeOf(field.Type), name) })
	})
}

// isNamed reports whether t, or the type that it points to, has a name: "idempotent.Key" for
// a type of Once, "context.Context" for any other.
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

// isA reports whether a type is of a kind.
func isA[T types.Type](t types.Type) bool {
	_, ok := t.Underlying().(T)
	return ok
}

func takesContext(t types.Type) bool {
	s, ok := t.Underlying().(*types.Signature)
	return ok && s.Params().Len() > 0 && isNamed(s.Params().At(0).Type(), "context.Context")
}

// method returns a method of a type, or nil.
func method(t types.Type, name string) types.Object {
	if t == nil {
		return nil
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	return o
}

// contains reports whether a node or an object is in the source of outer.
func contains(outer ast.Node, inner interface{ Pos() token.Pos }) bool {
	return outer.Pos() <= inner.Pos() && inner.Pos() < outer.End()
}
