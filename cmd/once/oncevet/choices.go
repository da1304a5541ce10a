package oncevet

import (
	"go/ast"
	"go/types"
	"regexp"
)

// stepChoices reports steps that another attempt would not reach, or under other names.
func stepChoices(c *code, report report) {
	const then = "an attempt after a crash takes another way, finished steps are not found, and their effects happen again or are not undone. "
	const stored = "Decide in a step of its own, which stores the answer"
	c.each(func(_ *handler, call *ast.CallExpr, s spot) {
		if !c.isStep(call) {
			return
		}
		if c.is(call.Args[1], c.chance) {
			report(call.Args[1].Pos(), "the name of the step differs in each attempt: "+then+"Use a constant, or the position of the item")
		}
		for i, around := range s.stack {
			switch around := around.(type) {
			case *ast.IfStmt: // the step can also be in the statement before the condition
				if i+1 < len(s.stack) && s.stack[i+1] != ast.Node(around.Init) && c.is(around.Cond, c.chance) {
					report(around.Cond.Pos(), "the time or chance decides whether the step runs: "+then+stored)
				}
			case *ast.SwitchStmt:
				if around.Tag != nil && c.is(around.Tag, c.chance) {
					report(around.Tag.Pos(), "the time or chance decides which step runs: "+then+stored)
				}
			case *ast.RangeStmt:
				if _, isMap := c.info.TypeOf(around.X).Underlying().(*types.Map); isMap {
					report(around.X.Pos(), "the order of a map decides which step is next: "+then+"Range over the sorted keys")
				}
			}
		}
	})
}

var chances = regexp.MustCompile(`^\(?\*?(time\.(Now|Since|Until)$|math/rand|crypto/rand\.|github\.com/(google/uuid\.New(String|Random|UUID|V6|V7)?$|gofrs/uuid|oklog/ulid|segmentio/ksuid\.New|rs/xid\.New))`)

// chance reports whether a node is a value that differs in each attempt.
func (c *code) chance(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && chances.MatchString(c.callee(call))
}
