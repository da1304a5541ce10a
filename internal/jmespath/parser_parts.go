package jmespath

// project parses the expression that is applied to each element of left.
func (p *parser) project(k kind, left *node, power int) (*node, error) {
	right, err := p.projected(power)
	return &node{kind: k, children: []*node{left, right}}, err
}

func (p *parser) projected(power int) (*node, error) {
	switch {
	case powers[p.peek()] < stopsProjection:
		return current(), nil
	case p.peek() == "[" || p.peek() == "[?":
		return p.expression(power)
	case p.peek() == ".":
		p.next()
		return p.member(power)
	}
	return nil, p.unexpected()
}

func (p *parser) flatten(left *node) (*node, error) {
	return p.project("each", &node{kind: "flatten", children: []*node{left}}, powers["[]"])
}

func (p *parser) filter(left *node) (*node, error) {
	condition, err := p.expression(0)
	if err == nil {
		err = p.match("]")
	}
	if err != nil {
		return nil, err
	}
	right := current()
	if p.peek() != "[]" {
		power := powers["[?"]
		if p.dialect == TypeScript {
			power = powers["[]"] // a second filter belongs to the elements of the first
		}
		if right, err = p.projected(power); err != nil {
			return nil, err
		}
	}
	return &node{kind: "filter", children: []*node{left, right, condition}}, nil
}

// member parses the expression after a dot.
func (p *parser) member(power int) (*node, error) {
	switch p.peek() {
	case "identifier", "quoted", "*":
		return p.expression(power)
	case "[":
		p.next()
		return p.list()
	case "{":
		p.next()
		return p.object()
	}
	return nil, p.unexpected()
}

// index parses an index or a slice. A slice projects. In Python and TypeScript
// alike, one that follows an index does not.
func (p *parser) index(left *node) (*node, error) {
	part, colons := &node{kind: "slice"}, 0
	if p.peek() == "number" && p.tokens[1].kind != ":" {
		part = &node{kind: "index", n: p.next().n}
	}
	for ; part.kind == "slice" && (p.peek() == "number" || p.peek() == ":"); p.next() {
		if p.peek() == ":" {
			if colons++; colons > 2 {
				return nil, p.unexpected()
			}
		} else {
			n := p.tokens[0].n
			part.bounds[colons] = &n
		}
	}
	if err := p.match("]"); err != nil {
		return nil, err
	}
	chain := &node{kind: "index chain", children: []*node{left, part}}
	if part.kind == "index" || left.kind == "index chain" && p.dialect != Exact {
		return chain, nil
	}
	return p.project("each", chain, powers["*"])
}

func (p *parser) list() (*node, error) {
	list := &node{kind: "list"}
	for {
		e, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		list.children = append(list.children, e)
		if p.peek() == "]" {
			p.next()
			return list, nil
		}
		if err := p.match(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) object() (*node, error) {
	o := &node{kind: "object"}
	for {
		if p.peek() != "identifier" && p.peek() != "quoted" {
			return nil, p.unexpected()
		}
		key := p.next().text
		if err := p.match(":"); err != nil {
			return nil, err
		}
		e, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		o.children = append(o.children, &node{kind: "member", text: key, children: []*node{e}})
		if p.peek() == "}" {
			p.next()
			return o, nil
		}
		if err := p.match(","); err != nil && p.dialect != Exact { // which takes no comma for one
			return nil, err
		}
	}
}

func (p *parser) call(name string) (*node, error) {
	call := &node{kind: "call", text: name}
	for p.peek() != ")" {
		arg, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		call.children = append(call.children, arg)
		if p.peek() == "," {
			p.next()
		} else if p.peek() != ")" && p.dialect != Exact {
			return nil, p.unexpected()
		}
	}
	p.next()
	return call, nil
}
