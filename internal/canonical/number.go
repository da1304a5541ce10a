package canonical

import (
	"bytes"
	"strconv"
)

// maxExponent bounds the exponent of a number's canonical form, so that it
// can be computed in an int64. It is a limit on the value and not on the
// spelling: equal numbers are refused together.
const maxExponent = 1_000_000_000_000_000_000

func (c *canonicalizer) number() {
	start := c.pos
	if c.peek() == '-' {
		c.pos++
	}
	whole := c.digits()
	if len(whole) > 1 && whole[0] == '0' {
		c.pos -= len(whole) - 1
		panic(c.failure("leading zero"))
	}
	// The common case needs no arithmetic.
	b := c.peek()
	if b != '.' && b != 'e' && b != 'E' && len(whole) <= 21 && whole[0] != '0' {
		c.dst = append(c.dst, c.raw[start:c.pos]...)
		return
	}
	var fraction, exponent []byte
	if b == '.' {
		c.pos++
		fraction = c.digits()
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.pos++
		from := c.pos
		if b := c.peek(); b == '+' || b == '-' {
			c.pos++
		}
		c.digits()
		exponent = c.raw[from:c.pos]
	}
	var ok bool
	c.dst, ok = appendDecimal(c.dst, c.raw[start] == '-', whole, fraction, exponent)
	if !ok {
		panic(&Error{Offset: start, Reason: "exponent of a number beyond 10^18"})
	}
}

// digits reads at least one digit.
func (c *canonicalizer) digits() []byte {
	start := c.pos
	for c.pos < len(c.raw) && isDigit(c.raw[c.pos]) {
		c.pos++
	}
	if c.pos == start {
		panic(c.failure("expected a digit"))
	}
	return c.raw[start:c.pos]
}

// appendDecimal lays a number out as ECMAScript's Number::toString does, but
// with all of its digits: where the number is exact as a float64 that prints
// all its digits, the text is that of RFC 8785.
func appendDecimal(dst []byte, negative bool, whole, fraction, exponent []byte) ([]byte, bool) {
	// The value is 0.d1d2d3... times 10^point, where d1 is not 0.
	point := int64(len(whole))
	all := len(whole) + len(fraction)
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	point -= int64(all - len(whole) - len(fraction))
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) == 0 {
		whole = bytes.TrimRight(whole, "0")
	}
	count := int64(len(whole) + len(fraction))
	if count == 0 {
		return append(dst, '0'), true
	}
	if len(exponent) > 0 {
		// 0.01e1000000000000000001 has an exponent that is small enough; the excess is
		// bounded by the length of any text that fits into memory.
		e, err := strconv.ParseInt(string(exponent), 10, 64)
		if err != nil || e > 4*maxExponent || e < -4*maxExponent {
			return dst, false
		}
		point += e
	}
	if point-1 > maxExponent || point-1 < -maxExponent {
		return dst, false
	}
	if negative {
		dst = append(dst, '-')
	}
	digits := func(from, to int64) {
		n := int64(len(whole))
		dst = append(dst, whole[min(from, n):min(to, n)]...)
		dst = append(dst, fraction[max(from-n, 0):max(to-n, 0)]...)
	}
	const zeros = "00000000000000000000"
	switch {
	case count <= point && point <= 21:
		digits(0, count)
		dst = append(dst, zeros[:point-count]...)
	case 0 < point && point <= 21:
		digits(0, point)
		dst = append(dst, '.')
		digits(point, count)
	case -6 < point && point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, zeros[:-point]...)
		digits(0, count)
	default:
		digits(0, 1)
		if count > 1 {
			dst = append(dst, '.')
			digits(1, count)
		}
		dst = append(dst, 'e')
		if point > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, point-1, 10)
	}
	return dst, true
}
