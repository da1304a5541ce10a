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
func parse(d Dialect, expr string) (n *node, err error) {
	if !utf8.ValidString(expr) {
		return nil, errNotUTF8
	}
	tokens, err := tokenize(d, expr)
	if err != nil {
		return nil, err
	}
	p := parser{d, expr, tokens}
	n, err = p.expression(0)
	if err == nil && p.peek() != "end" {
		err = p.unexpected()
	}
	return n, err
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

func (p *parser) match(k kind) error {
	if p.peek() != k {
		return p.unexpected()
	}
	p.next()
	return nil
}

func (p *parser) unexpected() error { return syntaxError(p.text, p.tokens[0].at) }

func (p *parser) expression(power int) (*node, error) {
	left, err := p.prefix()
	for err == nil && power < powers[p.peek()] {
		left, err = p.infix(left)
	}
	return left, err
}

func current() *node { return &node{kind: "@"} }

// prefix parses the beginning of an expression.
func (p *parser) prefix() (*node, error) {
	at := p.tokens
	t := p.next()
	switch t.kind {
	case "literal":
		return &node{kind: "literal", value: t.value}, nil
	case "identifier":
		return &node{kind: "identifier", text: t.text}, nil
	case "quoted":
		if p.peek() == "(" {
			break
		}
		return &node{kind: "identifier", text: t.text}, nil
	case "@", "$":
		return &node{kind: t.kind}, nil
	case "*":
		if p.peek() == "]" {
			return &node{kind: "values", children: []*node{current(), current()}}, nil
		}
		return p.project("values", current(), powers["*"])
	case "[?":
		return p.filter(current())
	case "[]":
		return p.flatten(current())
	case "{":
		return p.object()
	case "!", "&":
		operand, err := p.expression(powers[t.kind])
		return &node{kind: t.kind, children: []*node{operand}}, err
	case "(":
		inner, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		return inner, p.match(")")
	case "[":
		if p.peek() == "number" || p.peek() == ":" {
			return p.index(current())
		}
		if p.peek() == "*" && p.tokens[1].kind == "]" {
			p.next()
			p.next()
			return p.project("each", current(), powers["*"])
		}
		return p.list()
	}
	p.tokens = at
	return nil, p.unexpected()
}

// infix parses the continuation of an expression.
func (p *parser) infix(left *node) (*node, error) {
	at := p.tokens
	t := p.next()
	switch t.kind {
	case ".":
		if p.peek() == "*" {
			p.next()
			return p.project("values", left, powers["."])
		}
		right, err := p.member(powers["."])
		return &node{kind: "chain", children: []*node{left, right}}, err
	case "|", "||", "&&", "==", "!=", "<", "<=", ">", ">=":
		right, err := p.expression(powers[t.kind])
		return &node{kind: t.kind, children: []*node{left, right}}, err
	case "[?":
		return p.filter(left)
	case "[]":
		return p.flatten(left)
	case "[":
		if p.peek() == "number" || p.peek() == ":" {
			return p.index(left)
		}
		if p.match("*") != nil || p.match("]") != nil {
			return nil, p.unexpected()
		}
		return p.project("each", left, powers["*"])
	case "(":
		if left.kind == "identifier" {
			return p.call(left.text)
		}
	}
	p.tokens = at
	return nil, p.unexpected()
}
