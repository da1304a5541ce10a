package oncevet

import (
	"go/ast"
	"go/types"
	"reflect"
)

// results reports types of which encoding/json writes nothing. A package with a codec of
// its own may store them.
func results(c *code, report report) {
	codec := false
	c.inspect(func(n ast.Node, _ []ast.Node) { codec = codec || c.isField("Codec")(n) })
	payload := func(e ast.Expr) {
		if e != nil && isEmpty(c.info.TypeOf(e)) {
			report(e.Pos(), "the payload has no exported field: any two would be equal, so it is refused. Export the fields that a repetition must have in common")
		}
	}
	for _, call := range c.calls {
		switch name := c.once(call); {
		case name == "idempotent.Fingerprint":
			payload(call.Args[0])
		case name == "idempotent.WithPayload":
			for _, f := range c.functions(call.Args[1]) {
				for _, e := range returned(f.body) {
					payload(e)
				}
			}
		case c.isStep(call) || c.protects(call) != nil && !codec:
			for _, arg := range call.Args {
				s, ok := c.info.TypeOf(arg).Underlying().(*types.Signature)
				if ok && takesContext(s) && s.Results().Len() == 2 && isEmpty(s.Results().At(0).Type()) && !codec {
					report(arg.Pos(), "the result has no exported field: a repetition would receive an empty one, so the call is refused. Export the fields that callers need")
				}
			}
		}
	}
	c.inspect(func(n ast.Node, _ []ast.Node) { payload(c.literal(n)["Payload"]) })
}

// isEmpty reports whether a type is a struct with fields, of which encoding/json writes
// none, also behind a pointer or in a slice.
func isEmpty(t types.Type) bool {
	for _, method := range []string{"MarshalJSON", "MarshalText"} {
		if hasMethod(types.NewPointer(t), method) || hasMethod(t, method) {
			return false
		}
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
