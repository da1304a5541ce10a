package powertools

import (
	"errors"
	"fmt"
	"slices"
)

// inherited are the names that every object of TypeScript has. An event without
// such a member selects what it inherits, which is a function or an object.
var inherited = []string{
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
	"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}

// textual are the nodes that Java and .NET are known to treat alike.
var textual = []kind{"identifier", "quoted", "@", "chain", "|", "index", "index chain", "call"}

// check refuses what is not well defined in the dialect, so that no key is an
// approximation, and what would fail only when events come.
func check(d Dialect, n *node, own bool) error {
	if d.selectsText() && (!slices.Contains(textual, n.kind) || n.kind == "call" && !ownFunction(n.text)) {
		return fmt.Errorf("%v: only members, indices, pipes and the functions of Powertools are supported", d)
	}
	switch n.kind {
	case "identifier", "quoted", "member":
		if d == TypeScript && slices.Contains(inherited, n.text) {
			return fmt.Errorf("%s is refused: every object of TypeScript inherits it", n.text)
		}
	case "slice":
		if step := n.bounds[2]; step != nil && *step == 0 {
			return errors.New("the step of a slice is 0")
		}
	case "&":
		return errors.New("an expression reference (&) is refused where the function takes none")
	case "call":
		return checkCall(d, n, own)
	}
	for _, child := range n.children {
		if err := check(d, child, own); err != nil {
			return err
		}
	}
	return nil
}

func checkCall(d Dialect, n *node, own bool) error {
	if d == TypeScript && n.text == "reverse" || d == TypeScript && n.text == "sort" {
		return fmt.Errorf("the function %s is refused: in TypeScript, it changes the event between two keys", n.text)
	}
	f, ok := functions[n.text]
	if !ok {
		return fmt.Errorf("unknown function %s", n.text)
	}
	if d == Java && n.text == "powertools_base64_gzip" || d == DotNet && n.text != "powertools_json" {
		return fmt.Errorf("the function %s is refused: in %v, it changes the text", n.text, d)
	}
	if ownFunction(n.text) && !own {
		return fmt.Errorf("the function %s is unknown in payload_validation_jmespath, where Powertools for Python does not add it", n.text)
	}
	if count := len(n.children); count < f.args || count > f.args && !f.variadic {
		return fmt.Errorf("the function %s does not take %d arguments", n.text, count)
	}
	for i, arg := range n.children {
		if f.reference == i+1 {
			if arg.kind != "&" {
				return fmt.Errorf("argument %d of %s must be an expression reference (&)", i+1, n.text)
			}
			arg = arg.children[0]
		}
		if err := check(d, arg, own); err != nil {
			return fmt.Errorf("argument %d of %s: %w", i+1, n.text, err)
		}
	}
	return nil
}
