package oncevet

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

func nestedKeys(c *code, report report) {
	c.each(func(h *handler, call *ast.CallExpr, s spot) {
		if c.once(call) != "idempotent.Do" || h.x == nil || h.key == nil || c.object(h.x) == nil || c.object(h.x) != c.object(call.Args[1]) {
			return
		}
		if c.part(call.Args[0], s.handler) != "·" { // another context makes a call of its own
			return
		}
		if id := c.id(call.Args[2], s.handler); id != "" && id == c.id(h.key, s.handler) {
			report(call.Args[2].Pos(), "the call has the executor and the key of the call that it is part of: it would wait for itself, and is refused with a NestedCallError. "+
				"Use idempotent.Step, or an executor of its own")
		}
	})
}

// id describes the ID of a key, or of the only one that a key function returns, so that
// two can be compared: a part of the request, "·.Order.ID", or of a variable. It is ""
// for a key that it does not understand.
func (c *code) id(e ast.Expr, within function) string {
	e = ast.Unparen(e)
	if isFunc(c.info.TypeOf(e)) {
		if call, ok := e.(*ast.CallExpr); ok && c.once(call) == "idempotent.Field" {
			e = call.Args[0]
		}
		fns := c.functions(e)
		if len(fns) != 1 {
			return ""
		}
		results := returned(fns[0].body)
		if len(results) == 0 {
			return ""
		}
		return c.id(results[0], fns[0])
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		key := c.literal(e)
		if key["ID"] == nil || key["Scope"] != nil || key["Record"] != nil {
			return ""
		}
		return c.part(key["ID"], within)
	case *ast.CallExpr: // orderKey(o)
		if len(e.Args) == 1 && c.part(e.Args[0], within) == "·" {
			return c.id(e.Fun, within)
		}
		return ""
	case *ast.Ident:
		if v := c.info.ObjectOf(e); len(c.sets[v]) == 1 && isNamed(v.Type(), "idempotent.Key") {
			return c.id(c.sets[v][0], within)
		}
	}
	return c.part(e, within)
}

// part names a part of the request that a function receives, or of another variable.
func (c *code) part(e ast.Expr, of function) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if p := c.part(e.X, of); p != "" {
			return p + "." + e.Sel.Name
		}
	case *ast.Ident:
		v, ok := c.info.ObjectOf(e).(*types.Var)
		if slices.ContainsFunc(of.params(), func(name *ast.Ident) bool { return ok && c.info.Defs[name] == v }) {
			return "·"
		} else if ok {
			return fmt.Sprintf("%p", v)
		}
	}
	return ""
}
