package powertools

import (
	"math"
	"math/big"
	"regexp"
	"strings"
)

func absolute(_ Dialect, args []any, _ applied) (any, error) {
	switch n := args[0].(type) {
	case integer:
		return integer(strings.TrimPrefix(string(n), "-")), nil
	case float64:
		return math.Abs(n), nil
	}
	return nil, errArguments("abs")
}

func ceiling(d Dialect, args []any, _ applied) (any, error) {
	return whole(d, "ceil", args[0], math.Ceil)
}

func floor(d Dialect, args []any, _ applied) (any, error) {
	return whole(d, "floor", args[0], math.Floor)
}

// whole rounds a number. In Python, the result is an integer.
func whole(d Dialect, name string, arg any, round func(float64) float64) (any, error) {
	switch n := arg.(type) {
	case integer:
		return n, nil
	case float64:
		if d == TypeScript {
			return round(n), nil
		}
		if !math.IsInf(n, 0) && !math.IsNaN(n) {
			i, _ := big.NewFloat(round(n)).Int(nil)
			return integer(i.String()), nil
		}
	}
	return nil, errArguments(name)
}

func sum(d Dialect, args []any, _ applied) (any, error) {
	total, err := add(d, "sum", args[0])
	if r, ok := total.(*big.Int); ok {
		return integer(r.String()), err
	}
	return total, err
}

func average(d Dialect, args []any, _ applied) (any, error) {
	total, err := add(d, "avg", args[0])
	if err != nil {
		return nil, err
	}
	list := args[0].([]any)
	switch n := total.(type) {
	case float64:
		return n / float64(len(list)), nil // NaN of an empty list
	case *big.Int:
		if len(list) == 0 {
			return nil, nil
		}
		// jmespath divides by a float in 1.0.1, and by an integer in 1.1.0. The two
		// are one division while a float holds the sum.
		if n.CmpAbs(exactIntegers) > 0 {
			return nil, inapplicable("the average of integers whose sum is beyond 2^53 depends on the version of jmespath")
		}
		return float64(n.Int64()) / float64(len(list)), nil
	}
	return nil, errArguments("avg")
}

// exactIntegers is the last of the integers that are all float64s.
var exactIntegers = big.NewInt(1 << 53)

// add returns the sum of a list of numbers: a float64 in TypeScript, and a
// *big.Int in Python, whose sum of floats depends on its version since 3.12.
func add(d Dialect, name string, arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, errArguments(name)
	}
	exact, inexact := new(big.Int), 0.0
	for _, e := range list {
		switch n := e.(type) {
		case integer:
			i, _ := new(big.Int).SetString(string(n), 10)
			exact.Add(exact, i)
		case float64:
			if d != TypeScript {
				return nil, inapplicable("the sum of floats depends on the version of Python")
			}
			inexact += n
		default:
			return nil, errArguments(name)
		}
	}
	if d == TypeScript {
		return inexact, nil
	}
	return exact, nil
}

// plainNumber is what both languages read as the same number. Each has more,
// such as 0x1f or 1_000.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func toNumber(d Dialect, args []any, _ applied) (any, error) {
	switch v := args[0].(type) {
	case integer, float64:
		return v, nil
	case string:
		if !plainNumber.MatchString(v) {
			return nil, inapplicable("each language reads other numbers from such a text")
		}
		return decode(d, v)
	}
	return nil, nil
}
