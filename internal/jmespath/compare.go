package jmespath

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// compare evaluates a comparison. The four that order values are null for values
// that the language does not order.
func compare(d Dialect, operator kind, a, b any) any {
	switch operator {
	case "==":
		return equal(d, a, b)
	case "!=":
		return !equal(d, a, b)
	}
	_, x := a.(string)
	_, y := b.(string)
	switch {
	case isNumber(a) && isNumber(b) || d != TypeScript && x && y:
	case d == TypeScript:
		return Undefined{}
	case (isNumber(a) || x) && (isNumber(b) || y):
		panic(inapplicable("Python does not order a number and a string"))
	default:
		return nil
	}
	if notNumber(a) || notNumber(b) {
		return false
	}
	order := compareScalars(d, a, b)
	return order < 0 && operator[0] == '<' || order > 0 && operator[0] == '>' || order == 0 && len(operator) == 2
}

func isNumber(v any) bool {
	switch v.(type) {
	case Number, float64:
		return true
	}
	return false
}

func notNumber(v any) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

// equal reports whether two values are equal. 1 and true are not.
func equal(d Dialect, a, b any) bool {
	_, x := a.(bool)
	_, y := b.(bool)
	return x == y && equalInside(d, a, b)
}

// equalInside compares elements of lists and members of objects. In Python, 1 equals
// true there.
func equalInside(d Dialect, a, b any) bool {
	if d == Python {
		a, b = asNumber(a, b), asNumber(b, a)
	}
	switch x := a.(type) {
	case Number:
		if y, ok := b.(Number); ok {
			return x == y // each number has one form, and may be as long as the event
		}
		return isNumber(b) && !notNumber(b) && compareScalars(d, a, b) == 0
	case float64:
		return isNumber(b) && !notNumber(a) && !notNumber(b) && compareScalars(d, a, b) == 0
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(a, b any) bool { return equalInside(d, a, b) })
	case *Object:
		y, ok := b.(*Object)
		if !ok || len(x.Keys) != len(y.Keys) {
			return false
		}
		for key, e := range x.Members {
			other, ok := y.Members[key]
			if !ok && d == TypeScript {
				other, ok = Undefined{}, true
			}
			if !ok || !equalInside(d, e, other) {
				return false
			}
		}
		return true
	}
	return !isComposite(b) && a == b
}

// asNumber returns a boolean that Python compares with a number as one.
func asNumber(v, with any) any {
	if b, ok := v.(bool); ok && isNumber(with) {
		if b {
			return Number("1")
		}
		return Number("0")
	}
	return v
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, *Object:
		return true
	}
	return false
}

// compareScalars orders two strings, two decimals, or two numbers by their exact values.
func compareScalars(d Dialect, a, b any) int {
	switch x := a.(type) {
	case string:
		return compareStrings(d, x, b.(string))
	case decimal:
		return x.compare(b.(decimal))
	case Number:
		if y, ok := b.(Number); ok {
			return x.compare(y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	return exactFloat(a).Cmp(exactFloat(b))
}

// exactFloat returns the value of a float64, or of an integer of Python.
func exactFloat(v any) *big.Float {
	if f, ok := v.(float64); ok {
		return big.NewFloat(f)
	}
	n, _ := new(big.Int).SetString(string(v.(Number)), 10) // in Python, an integer
	return new(big.Float).SetInt(n)
}
