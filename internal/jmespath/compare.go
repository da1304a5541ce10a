package jmespath

import (
	"math"
	"slices"
	"strconv"
)

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
		a, b = asNumber(a), asNumber(b)
	}
	switch x := a.(type) {
	case Number:
		if y, ok := b.(float64); ok {
			return equalNumbers(x, y)
		}
	case float64:
		if y, ok := b.(Number); ok {
			return equalNumbers(y, x)
		}
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
	return a == b // each Number has one form
}

// asNumber returns a boolean of Python as the number that it equals.
func asNumber(v any) any {
	switch v {
	case true:
		return Number("1")
	case false:
		return Number("0")
	}
	return v
}

// equalNumbers compares an integer of Python with a float by their exact values.
func equalNumbers(n Number, f float64) bool {
	if f == 0 {
		return n == "0" // also for -0
	}
	return f == math.Trunc(f) && strconv.FormatFloat(f, 'f', 0, 64) == string(n)
}
