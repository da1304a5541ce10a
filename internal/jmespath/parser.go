package jmespath

import "unicode/utf8"

// A node is a part of a compiled expression. Its kind is that of the token that
// makes it, or one of: chain, index, slice, each, values, filter, flatten, list,
// object, call, reference.
type node struct {
	kind     kind
	text     string // name of a member or function
	value    any    // of a literal
	n        int    // of an index
	bounds   [3]*int
	children []*node
}

// A parser builds the nodes of an expression: Pratt's algorithm, with the
// binding powers and the quirks that all dialects share.
type parser struct {
	dialect Dialect
	text    string
	tokens  []token
}

// parse returns the node of an expression.
func parse(d Dialect, expr string) *node {
	if !utf8.ValidString(expr) {
		fail(errNotUTF8)
	}
	p := parser{d, expr, tokenize(d, expr)}
	n := p.expression(0)
	p.expect("end")
	return n
}

func (p *parser) peek() kind { return p.tokens[0].kind }

// next returns the current token and steps to the one after it. The last token
// stays.
func (p *parser) next() token {
	t := p.tokens[0]
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept steps over a token of this kind, if it is the current one.
func (p *parser) accept(k kind) bool {
	is := p.peek() == k
	if is {
		p.next()
	}
	return is
}

func (p *parser) expect(k kind) {
	if !p.accept(k) {
		panic(p.unexpected(p.tokens[0]))
	}
}

func (p *parser) unexpected(t token) failure { return syntaxError(p.text, t.at) }

func (p *parser) expression(power int) *node {
	left := p.prefix()
	for power < powers[p.peek()] {
		left = p.infix(left)
	}
	return left
}

func current() *node { return &node{kind: "@"} }

// prefix parses the beginning of an expression.
func (p *parser) prefix() *node {
	t := p.next()
	switch t.kind {
	case "literal":
		return &node{kind: "literal", value: t.value}
	case "identifier":
		return &node{kind: "identifier", text: t.text}
	case "quoted":
		if p.peek() != "(" {
			return &node{kind: "identifier", text: t.text}
		}
	case "@", "$":
		return &node{kind: t.kind}
	case "*":
		if p.peek() == "]" {
			return &node{kind: "values", children: []*node{current(), current()}}
		}
		return p.project("values", current(), powers["*"])
	case "[?":
		return p.filter(current())
	case "[]":
		return p.flatten(current())
	case "{":
		return p.object()
	case "!", "&":
		return &node{kind: t.kind, children: []*node{p.expression(powers[t.kind])}}
	case "(":
		inner := p.expression(0)
		p.expect(")")
		return inner
	case "[":
		if p.peek() == "*" && p.tokens[1].kind == "]" || p.isIndex() {
			return p.bracket(current())
		}
		return p.list()
	}
	panic(p.unexpected(t))
}

// infix parses the continuation of an expression.
func (p *parser) infix(left *node) *node {
	t := p.next()
	switch t.kind {
	case ".":
		if p.accept("*") {
			return p.project("values", left, powers["."])
		}
		return &node{kind: "chain", children: []*node{left, p.member(powers["."])}}
	case "|", "||", "&&", "==", "!=", "<", "<=", ">", ">=":
		return &node{kind: t.kind, children: []*node{left, p.expression(powers[t.kind])}}
	case "[?":
		return p.filter(left)
	case "[]":
		return p.flatten(left)
	case "[":
		return p.bracket(left)
	case "(":
		if left.kind == "identifier" {
			return p.call(left.text)
		}
	}
	panic(p.unexpected(t))
}
