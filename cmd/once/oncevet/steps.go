package oncevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
)

// stepNames compares the names of the steps of each handler.
func stepNames(c *code, report report) {
	type named struct {
		h    *handler
		f    ast.Node
		text string
	}
	before := map[named][]spot{}
	for call, s := range c.running {
		if !c.isStep(call) {
			continue
		}
		name, text := call.Args[1], c.text(call.Args[1])
		id := named{s.h, s.f.node, text}
		switch {
		case c.info.Types[name].Value == nil:
			if c.requested(name, s.f) {
				report(name.Pos(), "the name of the step is data of the request: an item that comes twice is refused, and so is an id with a colon or of more than 255 bytes. Begin it with a constant and add the item's position, fmt.Sprintf(\"ship-%%d\", i)")
			}
		case text == "":
			report(name.Pos(), "the step has no name: it is refused, and the call with it. Name it after its effect, \"charge\"")
		case slices.ContainsFunc(s.stack[slices.Index(s.stack, ast.Node(s.step))+1:], repeats):
			report(name.Pos(), "the step %q is in a loop: a run may use a name once, and the second use is refused. Add the position, fmt.Sprintf(%q, i)", text, text+"-%d")
		case slices.ContainsFunc(before[id], func(first spot) bool { return follows(first, s) }):
			report(name.Pos(), "the step %q has the name of one before it in this handler: a run may use a name once, and the second use is refused. Give each step its own name", text)
		}
		before[id] = append(before[id], s)
	}
}

// requested reports whether a value is a part of the handler's request, as it is.
func (c *code) requested(e ast.Expr, f function) bool {
	for seen := map[*types.Var]bool{}; ; {
		root := c.root(e)
		if root == nil || seen[root] {
			return false
		}
		seen[root] = true
		if slices.IndexFunc(f.params(), func(name *ast.Ident) bool { return c.info.Defs[name] == root }) > 0 {
			return true
		}
		if len(c.sets[root]) != 1 {
			return false
		}
		e = c.sets[root][0]
	}
}

// repeats reports whether a node is a loop that continues after a step has succeeded. One
// that can stop may be a retry, which uses a name again.
func repeats(n ast.Node) bool {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
	default:
		return false
	}
	stops := false
	ast.Inspect(n, func(n ast.Node) bool {
		branch, ok := n.(*ast.BranchStmt)
		stops = stops || comparesNil(n, token.EQL) || ok && branch.Tok != token.CONTINUE
		return !stops
	})
	return !stops
}

// follows reports whether a run that passes the first spot also passes the second, and
// not only after an error.
func follows(first, second spot) bool {
	i := 0
	for i < min(len(first.stack), len(second.stack)) && first.stack[i] == second.stack[i] {
		i++
	}
	for j, around := range second.stack[:len(second.stack)-1] {
		if s, ok := around.(*ast.IfStmt); ok && comparesNil(s.Cond, token.NEQ) && second.stack[j+1] == ast.Node(s.Body) {
			return false
		}
	}
	return first.step == second.step && !slices.ContainsFunc(first.stack[i:], func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return true
		}
		return false
	})
}

// comparesNil reports whether a node asks whether there is an error.
func comparesNil(n ast.Node, by token.Token) bool {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || b.Op != by {
		return false
	}
	name, ok := b.Y.(*ast.Ident)
	return ok && name.Name == "nil"
}

// stepChoices reports steps that the next attempt may not reach, or may reach under different names.
func stepChoices(c *code, report report) {
	const then = "an attempt after a crash takes another way, finished steps are not found, and their effects happen again or are not undone. "
	const stored = "Decide in a step of its own, which stores the answer"
	for call, s := range c.running {
		if !c.isStep(call) {
			continue
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
				if isA[*types.Map](c.info.TypeOf(around.X)) {
					report(around.X.Pos(), "the order of a map decides which step is next: "+then+"Range over the sorted keys")
				}
			}
		}
	}
}

var chances = regexp.MustCompile(`^\(?\*?(time\.(Now|Since|Until)$|math/rand|crypto/rand\.|github\.com/(google/uuid\.New(String|Random|UUID|V6|V7)?$|gofrs/uuid|oklog/ulid|segmentio/ksuid\.New|rs/xid\.New))`)

// chance reports whether a node is a value that differs in each attempt.
func (c *code) chance(n ast.Node) bool { return chances.MatchString(c.callee(n)) }
