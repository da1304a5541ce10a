package oncevet

import (
	"go/ast"
	"regexp"
	"strings"
)

var verbs = regexp.MustCompile(`%[-+# 0-9.]*([a-zA-Z])`)

// classes reports errors whose class, permanent or retryable, does not arrive.
func classes(c *code, report report) {
	const then = "the call sees an error without a class, releases the key, and a retry runs the handler again. "
	isClass := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		return ok && (c.once(call) == "idempotent.Permanent" || c.once(call) == "idempotent.Retryable")
	}
	for _, call := range c.calls {
		switch c.callee(call) {
		case "fmt.Errorf":
			format := strings.ReplaceAll(c.text(call.Args[0]), "%%", "")
			for i, verb := range verbs.FindAllStringSubmatch(format, -1) {
				// A width or an index that is an argument changes the order.
				if i+1 < len(call.Args) && verb[1] != "w" && verb[1] != "T" && !strings.ContainsAny(format, "*[") && c.is(call.Args[i+1], isClass) {
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
	c.inspect(func(n ast.Node, _ []ast.Node) {
		if s, ok := n.(*ast.ExprStmt); ok && isClass(s.X) {
			report(s.Pos(), "the class is set on a copy of the error, which is dropped here: %sReturn the result", then)
		}
	})
}
