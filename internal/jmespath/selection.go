package jmespath

// A Selection is the part of a value that expressions may read. Decode checks a member
// that it leaves out, and builds nothing of it. The nil Selection is the whole value.
type Selection struct {
	all     bool
	members map[string]*Selection
}

// Select returns the part of an event that the expressions may read. Nil reads nothing.
func Select(expressions ...*Expression) *Selection {
	s := new(Selection)
	for _, e := range expressions {
		if e != nil {
			s.add(e.root)
		}
	}
	return s
}

// part returns the selection of a member, and whether there is one.
func (s *Selection) part(key string) (of *Selection, selected bool) {
	if s == nil || s.all {
		return nil, true
	}
	of, selected = s.members[key]
	return of, selected
}

// add adds all that an expression may read of the value that it is applied to. Its own
// value is then complete.
func (s *Selection) add(n *node) {
	switch n.kind {
	case "literal":
	case "chain", "|":
		if of := s.path(n.children[0]); of != nil {
			of.add(n.children[1])
			return
		}
		s.add(n.children[0]) // the rest is applied to its value
	case "list", "object", "member", "call", "!", "||", "&&", "==", "!=":
		for _, child := range n.children {
			s.add(child)
		}
	case "index chain", "each", "values", "filter", "flatten":
		s.add(n.children[0]) // the rest is applied to its elements
	default:
		if of := s.path(n); of != nil {
			s = of
		}
		s.all = true
	}
}

// path returns the selection of the member that a chain of names leads to, or nil.
func (s *Selection) path(n *node) *Selection {
	switch n.kind {
	case "@":
		return s
	case "identifier":
		of := s.members[n.text]
		if of == nil {
			if of = new(Selection); s.members == nil {
				s.members = map[string]*Selection{}
			}
			s.members[n.text] = of
		}
		return of
	case "chain", "|":
		if of := s.path(n.children[0]); of != nil {
			return of.path(n.children[1])
		}
	}
	return nil
}
