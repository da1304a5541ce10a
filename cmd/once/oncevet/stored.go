package oncevet

import (
	"go/ast"
	"go/types"
	"reflect"
	"regexp"
	"strings"
)

var verbs = regexp.MustCompile(`%[-+# 0-9.]*([a-zA-Z])`)

// classes reports errors whose class, permanent or retryable, does not arrive.
func classes(c *code, report report) {
	const then = "the call sees an error without a class, releases the key, and a retry runs the handler again. "
	isClass := c.calling("idempotent.Permanent", "idempotent.Retryable")
	for n := range c.nodes {
		if s, ok := n.(*ast.ExprStmt); ok && isClass(s.X) {
			report(s.Pos(), "the class is set on a copy of the error, which is dropped here: %sReturn the result", then)
		}
	}
	for _, call := range c.calls {
		switch c.callee(call) {
		case "fmt.Errorf":
			format := strings.ReplaceAll(c.text(call.Args[0]), "%%", "")
			if strings.ContainsAny(format, "*[") { // a width or an index that is an argument changes the order
				continue
			}
			for i, verb := range verbs.FindAllStringSubmatch(format, -1) {
				if i+1 < len(call.Args) && verb[1] != "w" && verb[1] != "T" && c.is(call.Args[i+1], isClass) {
					report(call.Args[i+1].Pos(), "%%%s drops the class of the error: %sUse %%w, or wrap the outer error", verb[1], then)
				}
			}
		case "errors.New":
			if text, ok := call.Args[0].(*ast.CallExpr); ok {
				if s, ok := text.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" && c.is(s.X, isClass) {
					report(call.Pos(), "errors.New drops the class of the error: %sReturn the error itself, or wrap it with fmt.Errorf and %%w", then)
				}
			}
		}
	}
}

// results reports types of which encoding/json writes nothing. A package with a codec of
// its own may store them.
func results(c *code, report report) {
	codec := false
	payload := func(e ast.Expr) {
		if e != nil && isEmpty(c.info.TypeOf(e)) {
			report(e.Pos(), "the payload has no exported field: any two would be equal, so it is refused. Export the fields that a repetition must have in common")
		}
	}
	for n := range c.nodes {
		codec = codec || c.isField("Codec")(n)
		payload(c.literal(n)["Payload"])
	}
	for _, call := range c.calls {
		switch c.once(call) {
		case "idempotent.Fingerprint":
			payload(call.Args[0])
		case "idempotent.WithPayload":
			for _, f := range c.functions(call.Args[1]) {
				for _, e := range f.returned() {
					payload(e)
				}
			}
		}
		if codec || !c.isStep(call) && c.protects(call) == nil {
			continue
		}
		for _, arg := range call.Args {
			s, ok := c.info.TypeOf(arg).Underlying().(*types.Signature)
			if ok && takesContext(s) && s.Results().Len() == 2 && isEmpty(s.Results().At(0).Type()) {
				report(arg.Pos(), "the result has no exported field: a repetition would receive an empty one, so the call is refused. Export the fields that callers need")
			}
		}
	}
}

// isEmpty reports whether a type is a struct with fields, of which encoding/json writes
// none, also behind a pointer or in a slice.
func isEmpty(t types.Type) bool {
	if method(t, "MarshalJSON") != nil || method(t, "MarshalText") != nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return isEmpty(u.Elem())
	case *types.Slice:
		return isEmpty(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if f := u.Field(i); f.Embedded() || f.Exported() && reflect.StructTag(u.Tag(i)).Get("json") != "-" {
				return false
			}
		}
		return u.NumFields() > 0
	}
	return false
}
