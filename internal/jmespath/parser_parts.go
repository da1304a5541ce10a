package jmespath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// inherited are the names that every object of TypeScript has. In an event without
// such a member, the name selects an inherited function or object.
var inherited = []string{
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
	"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}

// name returns the name of a member.
func (p *parser) name(t token) string {
	if p.dialect == TypeScript && slices.Contains(inherited, t.text) {
		fail(fmt.Errorf("%s is refused: every object of TypeScript inherits it", t.text))
	}
	return t.text
}

// project parses the expression that is applied to each element of left.
func (p *parser) project(k kind, left *node, power int) *node {
	return &node{kind: k, children: []*node{left, p.projected(power)}}
}

func (p *parser) projected(power int) *node {
	switch {
	case powers[p.peek()] < stopsProjection:
		return current()
	case p.peek() == "[" || p.peek() == "[?":
		return p.expression(power)
	}
	p.expect(".")
	return p.member(power)
}

func (p *parser) flatten(left *node) *node {
	return p.project("each", &node{kind: "flatten", children: []*node{left}}, powers["[]"])
}

func (p *parser) filter(left *node) *node {
	condition := p.expression(0)
	p.expect("]")
	power := powers["[?"]
	if p.dialect == TypeScript {
		power = powers["[]"] // a second filter belongs to the elements of the first
	}
	return &node{kind: "filter", children: []*node{left, p.projected(power), condition}}
}

// member parses the expression after a dot.
func (p *parser) member(power int) *node {
	switch p.peek() {
	case "identifier", "quoted", "*":
		return p.expression(power)
	case "[":
		p.next()
		return p.list()
	}
	p.expect("{")
	return p.object()
}

func (p *parser) isIndex() bool { return p.peek() == "number" || p.peek() == ":" }

// bracket parses an index, a slice or [*]. A slice projects. In Python and TypeScript
// alike, one that follows an index does not.
func (p *parser) bracket(left *node) *node {
	if !p.isIndex() {
		p.expect("*")
		p.expect("]")
		return p.project("each", left, powers["*"])
	}
	part, colons := &node{kind: "slice"}, 0
	if p.peek() == "number" && p.tokens[1].kind != ":" {
		part = &node{kind: "index", n: p.next().n}
	}
	for ; part.kind == "slice" && p.isIndex(); p.next() {
		if t := p.tokens[0]; t.kind == "number" {
			part.bounds[colons] = &t.n
		} else if colons++; colons > 2 {
			panic(p.unexpected(t))
		}
	}
	p.expect("]")
	if step := part.bounds[2]; step != nil && *step == 0 {
		fail(errors.New("the step of a slice is 0"))
	}
	chain := &node{kind: "index chain", children: []*node{left, part}}
	if part.kind == "index" || left.kind == "index chain" && p.dialect != Exact {
		return chain
	}
	return p.project("each", chain, powers["*"])
}

func (p *parser) list() *node {
	list := &node{kind: "list"}
	for {
		list.children = append(list.children, p.expression(0))
		if p.accept("]") {
			return list
		}
		p.expect(",")
	}
}

func (p *parser) object() *node {
	o := &node{kind: "object"}
	for {
		key := p.next()
		if key.kind != "identifier" && key.kind != "quoted" {
			panic(p.unexpected(key))
		}
		p.expect(":")
		o.children = append(o.children, &node{kind: "member", text: p.name(key), children: []*node{p.expression(0)}})
		if p.accept("}") {
			return o
		}
		p.expect(",")
	}
}

func (p *parser) call(name string) *node {
	f, known := functions[name]
	if !known {
		panic(p.unsupported("the function " + name))
	}
	if !p.decoders && strings.HasPrefix(name, "powertools_") {
		fail(fmt.Errorf("the function %s is unknown in payload_validation_jmespath, where Powertools for Python does not add it", name))
	}
	call := &node{kind: "call", text: name}
	for !p.accept(")") {
		call.children = append(call.children, p.expression(0))
		if !p.accept(",") && p.peek() != ")" {
			panic(p.unexpected(p.tokens[0]))
		}
	}
	if n := len(call.children); n != f.parameters {
		fail(fmt.Errorf("the function %s does not take %d arguments", name, n))
	}
	return call
}
