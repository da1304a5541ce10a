package jmespath

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A node is a part of a compiled expression. Its kind is that of the token that
// makes it, or one of: chain, index, slice, each, values, filter, flatten, list,
// object, call.
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
	dialect  Dialect
	text     string
	tokens   []token
	decoders bool // whether the functions that Powertools adds are known
}

// parse returns the node of an expression, and fails for one that is not well defined in
// the dialect: no key is an approximation, and no mistake shows only when events come.
func parse(d Dialect, expr string, decoders bool) *node {
	if !utf8.ValidString(expr) {
		fail(errNotUTF8)
	}
	p := parser{d, expr, tokenize(d, expr), decoders}
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

func (p *parser) unexpected(t token) failure {
	if slices.Contains([]kind{"<", "<=", ">", ">=", "&", "$"}, t.kind) {
		return p.unsupported("the operator " + string(t.kind))
	}
	return syntaxError(p.text, t.at)
}

// unsupported refuses a part of JMESPath that computes more than a selection.
func (p *parser) unsupported(part string) failure {
	advice := "write a key function in Go"
	if p.dialect != Exact {
		advice = "change the expression in all functions that share the table"
	}
	return failure{fmt.Errorf("%s is not supported: %s", part, advice)}
}

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
		return &node{kind: "identifier", text: p.name(t)}
	case "quoted":
		if p.peek() != "(" {
			return &node{kind: "identifier", text: p.name(t)}
		}
	case "@":
		return current()
	case "*":
		return p.project("values", current(), powers["*"])
	case "[?":
		return p.filter(current())
	case "[]":
		return p.flatten(current())
	case "{":
		return p.object()
	case "!":
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
	case "|", "||", "&&", "==", "!=":
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
