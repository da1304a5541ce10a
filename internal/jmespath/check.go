package jmespath

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// inherited are the names that every object of TypeScript has. In an event without
// such a member, the name selects an inherited function or object.
var inherited = []string{
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
	"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}

// maxCount bounds the counts and the steps of slices in Exact.
const maxCount = 1 << 20

// checkNode refuses an expression that is not well defined in the dialect, so that no key
// is an approximation and no mistake shows only when events come.
func checkNode(d Dialect, n *node, decoders bool) error {
	switch n.kind {
	case "identifier", "member":
		if d == TypeScript && slices.Contains(inherited, n.text) {
			return fmt.Errorf("%s is refused: every object of TypeScript inherits it", n.text)
		}
	case "literal":
		if d == Exact && containsNumber(n.value) {
			return errors.New("a number literal is not supported, except as a count or a position")
		}
	case "<", "<=", ">", ">=":
		if d == Exact {
			return errors.New("the operators <, <=, > and >= are not supported")
		}
	case "slice":
		if step := n.bounds[2]; step != nil && (*step == 0 || d == Exact && (*step > maxCount || *step < -maxCount)) {
			return errors.New("the step of a slice is 0 or out of range")
		}
	case "&":
		return errors.New("an expression reference (&) is refused where the function takes none")
	case "call":
		return checkCall(d, n, decoders)
	}
	for _, child := range n.children {
		if err := checkNode(d, child, decoders); err != nil {
			return err
		}
	}
	return nil
}

func checkCall(d Dialect, n *node, decoders bool) error {
	if d == TypeScript && n.text == "reverse" || d == TypeScript && n.text == "sort" {
		return fmt.Errorf("the function %s is refused: in TypeScript, it changes the event between two keys", n.text)
	}
	f, ok := lookup(d, n.text)
	if !ok {
		return fmt.Errorf("unknown function %s", n.text)
	}
	if isDecoder(n.text) && !decoders {
		return fmt.Errorf("the function %s is unknown in payload_validation_jmespath, where Powertools for Python does not add it", n.text)
	}
	if !f.takes(len(n.children)) {
		return fmt.Errorf("the function %s does not take %d arguments", n.text, len(n.children))
	}
	for i, arg := range n.children {
		if err := checkArgument(d, f.parameter(i), arg, decoders); err != nil {
			return fmt.Errorf("argument %d of %s: %w", i+1, n.text, err)
		}
	}
	return nil
}

func checkArgument(d Dialect, parameter string, arg *node, decoders bool) error {
	_, number := arg.value.(Number)
	switch {
	case parameter == "&":
		if arg.kind != "&" {
			return errors.New("must be an expression reference (&)")
		}
		return checkNode(d, arg.children[0], decoders)
	case strings.HasPrefix(parameter, "c") || strings.HasPrefix(parameter, "p") && number:
		return settleCount(parameter, arg)
	}
	return checkNode(d, arg, decoders)
}

// settleCount checks a literal count, and writes it without fraction and exponent.
// A position may also be negative.
func settleCount(parameter string, arg *node) error {
	text, _ := arg.value.(Number)
	n, err := strconv.ParseFloat(string(text), 64)
	least := 0
	if parameter[0] == 'p' {
		least = -maxCount
	}
	if err != nil || n != float64(int(n)) || n < float64(least) || n > maxCount {
		return fmt.Errorf("must be a literal integer from %d to %d", least, maxCount)
	}
	arg.value = Number(strconv.Itoa(int(n)))
	return nil
}

func containsNumber(v any) bool {
	switch v := v.(type) {
	case Number:
		return true
	case []any:
		return slices.ContainsFunc(v, containsNumber)
	case *Object:
		for _, e := range v.Members {
			if containsNumber(e) {
				return true
			}
		}
	}
	return false
}
