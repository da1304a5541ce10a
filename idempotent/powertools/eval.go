package powertools

// evaluate applies an expression to a value.
func (n *node) evaluate(d Dialect, v any) (any, error) {
	switch n.kind {
	case "literal":
		return n.value, nil
	case "@":
		return v, nil
	case "identifier", "quoted":
		if o, ok := v.(*object); ok && (n.text != "" || d != TypeScript) {
			return o.members[n.text], nil
		}
		return nil, nil
	case "index":
		list, _ := v.([]any)
		i := n.n
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) || list[i] == any(undefined{}) {
			return nil, nil
		}
		return list[i], nil
	case "slice":
		if list, ok := v.([]any); ok {
			return n.slice(list), nil
		}
		return nil, nil
	case "list", "object":
		return n.build(d, v)
	case "call":
		return n.call(d, v)
	case "each", "values", "filter", "flatten":
		return n.project(d, v)
	}
	left, err := n.children[0].evaluate(d, v)
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case "chain", "index chain", "|":
		return n.children[1].evaluate(d, left)
	case "!":
		return !truthy(left), nil
	case "||", "&&":
		if truthy(left) == (n.kind == "||") {
			return left, nil
		}
		return n.children[1].evaluate(d, v)
	}
	right, err := n.children[1].evaluate(d, v)
	if err != nil {
		return nil, err
	}
	return compare(d, n.kind, left, right)
}

// truthy is that of JMESPath, where 0 is true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *object:
		return len(v.keys) > 0
	}
	return true
}

// build evaluates a list or an object of expressions.
func (n *node) build(d Dialect, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	o := newObject(len(n.children))
	list := make([]any, 0, len(n.children))
	for _, child := range n.children {
		e := child
		if n.kind == "object" {
			e = child.children[0]
		}
		selected, err := e.evaluate(d, v)
		if err != nil {
			return nil, err
		}
		list = append(list, selected)
		o.set(child.text, selected)
	}
	if n.kind == "object" {
		return o, nil
	}
	return list, nil
}

// project applies an expression to each element, and leaves out what is null.
func (n *node) project(d Dialect, v any) (any, error) {
	v, err := n.children[0].evaluate(d, v)
	if err != nil {
		return nil, err
	}
	var elements []any
	if o, ok := v.(*object); ok && n.kind == "values" {
		elements = valuesOf(d, o)
	} else if elements, ok = v.([]any); !ok || n.kind == "values" {
		return nil, nil
	}
	if n.kind == "flatten" {
		return flatten(elements), nil
	}
	selected := []any{}
	for _, e := range elements {
		if n.kind == "filter" {
			met, err := n.children[2].evaluate(d, e)
			if err != nil {
				return nil, err
			}
			if !truthy(met) {
				continue
			}
		}
		e, err := n.children[1].evaluate(d, e)
		if err != nil {
			return nil, err
		}
		if e != nil {
			selected = append(selected, e)
		}
	}
	return selected, nil
}

func flatten(list []any) []any {
	flat := []any{}
	for _, e := range list {
		if inner, ok := e.([]any); ok {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, e)
		}
	}
	return flat
}

func valuesOf(d Dialect, o *object) []any {
	list := make([]any, 0, len(o.keys))
	for _, key := range o.ordered(d) {
		list = append(list, o.members[key])
	}
	return list
}

func (n *node) slice(list []any) []any {
	step := 1
	if n.bounds[2] != nil {
		step = *n.bounds[2]
	}
	first, last := 0, len(list) // the bounds of what is counted
	start, stop := 0, len(list)
	if step < 0 {
		first, last = -1, len(list)-1
		start, stop = last, first
	}
	if n.bounds[0] != nil {
		start = clamp(*n.bounds[0], len(list), first, last)
	}
	if n.bounds[1] != nil {
		stop = clamp(*n.bounds[1], len(list), first, last)
	}
	part := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		part = append(part, list[i])
		if d := stop - i; step > 0 && step >= d || step < 0 && step <= d { // i+step may overflow
			break
		}
	}
	return part
}

// clamp returns the index that a bound of a slice stands for.
func clamp(i, n, first, last int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, first), last)
}
