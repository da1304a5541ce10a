package jmespath

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

func absolute(c call) (any, error) {
	if n, ok := c.args[0].(Number); ok {
		return Number(strings.TrimPrefix(string(n), "-")), nil
	}
	return math.Abs(c.args[0].(float64)), nil
}

// rounded returns the function that rounds a number in the direction of sign. In
// Python, the result is an integer.
func rounded(sign int, round func(float64) float64) func(call) (any, error) {
	return func(c call) (any, error) {
		if n, ok := c.args[0].(Number); ok {
			if d := n.decimal(); d.point > maxPlaces && d.point < len(d.digits) {
				return nil, c.fail()
			}
			return n.round(sign)
		}
		n := round(c.args[0].(float64))
		switch {
		case c.dialect == TypeScript:
			return n, nil
		case math.IsInf(n, 0) || math.IsNaN(n):
			return nil, c.fail()
		}
		i, _ := big.NewFloat(n).Int(nil)
		return Number(i.String()), nil
	}
}

func sum(c call) (any, error) {
	if c.dialect == TypeScript {
		return c.sumFloats()
	}
	total, exponent, err := c.sumNumbers()
	if err != nil || c.dialect != Exact {
		return Number(total.String()), err
	}
	return exactNumber(total.String() + "e" + strconv.Itoa(exponent))
}

// maxPlaces bounds the numbers that Exact computes with: 1e999999 is as short as 1, and
// arithmetic on a million digits takes seconds.
const maxPlaces = 1_000

// averagePlaces are the decimal places of an average beyond those of the numbers.
const averagePlaces = 20

func average(c call) (any, error) {
	n := len(c.args[0].([]any))
	if c.dialect == TypeScript {
		total, err := c.sumFloats()
		return total / float64(n), err // NaN of an empty list
	}
	total, exponent, err := c.sumNumbers()
	switch {
	case err != nil || n == 0:
		return nil, err
	case c.dialect == Exact:
		total.Mul(total, powerOf10(averagePlaces))
		return exactNumber(divide(total, int64(n)).String() + "e" + strconv.Itoa(exponent-averagePlaces))
	// jmespath divides by a float in 1.0.1, and by an integer in 1.1.0. The two
	// are one division while a float holds the sum.
	case total.CmpAbs(exactIntegers) > 0:
		return nil, inapplicable("the average of integers whose sum is beyond 2^53 depends on the version of jmespath")
	}
	return float64(total.Int64()) / float64(n), nil
}

// divide returns the integer next to total / n, and of two the one further from 0.
func divide(total *big.Int, n int64) *big.Int {
	half := big.NewInt(n)
	if total.Sign() < 0 {
		half.Neg(half)
	}
	total.Add(total.Lsh(total, 1), half)
	return total.Quo(total, big.NewInt(2*n))
}

// exactIntegers is the last of the integers that are all float64s.
var exactIntegers = big.NewInt(1 << 53)

func (c call) sumFloats() (float64, error) {
	total := 0.0
	for _, e := range c.args[0].([]any) {
		n, ok := e.(float64)
		if !ok {
			return 0, c.fail()
		}
		total += n
	}
	return total, nil
}

// sumNumbers returns the sum of a list as total × 10^exponent. The exponent is 0 in
// Python.
func (c call) sumNumbers() (total *big.Int, exponent int, _ error) {
	var list []Number
	for _, e := range c.args[0].([]any) {
		switch n := e.(type) {
		case Number:
			list = append(list, n)
		case float64:
			return new(big.Int), 0, inapplicable("the sum of floats depends on the version of Python")
		default:
			return new(big.Int), 0, c.fail()
		}
	}
	places := maxDigits
	if c.dialect == Exact {
		places = maxPlaces
	}
	total, exponent, ok := addNumbers(list, places)
	if !ok {
		return new(big.Int), 0, c.fail()
	}
	return total, exponent, nil
}

// plainNumber matches texts that all dialects read as the same number. Python and
// TypeScript read more, such as 0x1f or 1_000.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func toNumber(c call) (any, error) {
	switch v := c.args[0].(type) {
	case Number, float64:
		return v, nil
	case string:
		if plainNumber.MatchString(v) {
			n, err := Decode(c.dialect, v)
			if err != nil {
				return nil, c.fail()
			}
			return n, nil
		}
		if c.dialect != Exact {
			return nil, inapplicable("each language reads other numbers from such a text")
		}
	}
	return nil, nil
}
