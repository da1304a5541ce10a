package jmespath

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

func absolute(c call) any {
	if n, ok := c.args[0].(Number); ok {
		return Number(strings.TrimPrefix(string(n), "-"))
	}
	return math.Abs(c.args[0].(float64))
}

// rounded returns the function that rounds a number in the direction of sign. In
// Python, the result is an integer.
func rounded(sign int, round func(float64) float64) func(call) any {
	return func(c call) any {
		if n, ok := c.args[0].(Number); ok {
			if d := n.decimal(); d.point > maxPlaces && d.point < len(d.digits) {
				panic(c.failure())
			}
			return n.round(sign)
		}
		n := round(c.args[0].(float64))
		switch {
		case c.dialect == TypeScript:
			return n
		case math.IsInf(n, 0) || math.IsNaN(n):
			panic(c.failure())
		}
		i, _ := big.NewFloat(n).Int(nil)
		return Number(i.String())
	}
}

func sum(c call) any {
	if c.dialect == TypeScript {
		return c.sumFloats()
	}
	total, exponent := c.sumNumbers()
	if c.dialect != Exact {
		return Number(total.String())
	}
	return exactNumber(total.String() + "e" + strconv.Itoa(exponent))
}

// maxPlaces bounds the numbers that Exact computes with: 1e999999 is as short as 1, and
// arithmetic on a million digits takes seconds.
const maxPlaces = 1_000

// averagePlaces are the decimal places of an average beyond those of the numbers.
const averagePlaces = 20

func average(c call) any {
	n := len(c.args[0].([]any))
	if c.dialect == TypeScript {
		return c.sumFloats() / float64(n) // NaN of an empty list
	}
	total, exponent := c.sumNumbers()
	switch {
	case n == 0:
		return nil
	case c.dialect == Exact:
		total.Mul(total, powerOf10(averagePlaces))
		return exactNumber(divide(total, int64(n)).String() + "e" + strconv.Itoa(exponent-averagePlaces))
	// jmespath divides by a float in 1.0.1, and by an integer in 1.1.0. The two
	// are one division while a float holds the sum.
	case total.CmpAbs(exactIntegers) > 0:
		panic(inapplicable("the average of integers whose sum is beyond 2^53 depends on the version of jmespath"))
	}
	return float64(total.Int64()) / float64(n)
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

func (c call) sumFloats() (total float64) {
	for _, e := range c.args[0].([]any) {
		n, ok := e.(float64)
		if !ok {
			panic(c.failure())
		}
		total += n
	}
	return total
}

// sumNumbers returns the sum of a list as total × 10^exponent. The exponent is 0 in
// Python. Numbers are scaled when those with the same exponent have been added: an
// event may have many of 1e999.
func (c call) sumNumbers() (total *big.Int, exponent int) {
	places := maxDigits
	if c.dialect == Exact {
		places = maxPlaces
	}
	sums := map[int]*big.Int{} // by exponent
	for _, v := range c.args[0].([]any) {
		switch v.(type) {
		case Number:
		case float64:
			panic(inapplicable("the sum of floats depends on the version of Python"))
		default:
			panic(c.failure())
		}
		d := v.(Number).decimal()
		e := d.point - len(d.digits)
		if e < -places || d.point > places {
			panic(c.failure())
		}
		if sums[e] == nil {
			sums[e] = new(big.Int)
		}
		sums[e].Add(sums[e], d.integer(d.digits))
		exponent = min(exponent, e)
	}
	total = new(big.Int)
	for e, sum := range sums {
		total.Add(total, sum.Mul(sum, powerOf10(e-exponent)))
	}
	return total, exponent
}

func powerOf10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// plainNumber matches texts that all dialects read as the same number. Python and
// TypeScript read more, such as 0x1f or 1_000.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func toNumber(c call) any {
	switch v := c.args[0].(type) {
	case Number, float64:
		return v
	case string:
		if plainNumber.MatchString(v) {
			n, err := Decode(c.dialect, v)
			if err != nil {
				panic(c.failure())
			}
			return n
		}
		if c.dialect != Exact {
			panic(inapplicable("each language reads other numbers from such a text"))
		}
	}
	return nil
}
