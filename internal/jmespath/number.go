package jmespath

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"github.com/lambda-once/once/internal/canonical"
)

// A Number is a number that is exact: in Exact any, in the canonical form of
// package canonical; in Python an integer. All numbers of TypeScript, and those of
// Python with a fraction or an exponent, are float64s.
type Number string

// exactNumber returns the canonical form of a number's JSON text.
func exactNumber(text string) Number {
	if len(text) <= 21 && text != "-0" && !strings.ContainsAny(text, ".eE") {
		return Number(text)
	}
	return Number(must(canonical.Append(nil, []byte(text))))
}

// A decimal is the number sign × 0.digits × 10^point. The digits neither begin nor
// end with 0. The sign of zero is 0.
type decimal struct {
	sign   int
	digits string
	point  int
}

func (n Number) decimal() decimal {
	mantissa, exponent, _ := strings.Cut(string(n), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	point, _ := strconv.Atoi(exponent) // 0 if there is none, and never out of range
	digits := strings.TrimLeft(whole+fraction, "0")
	point += len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return decimal{}
	case negative:
		return decimal{-1, digits, point}
	}
	return decimal{1, digits, point}
}

func (n Number) compare(m Number) int { return n.decimal().compare(m.decimal()) }

// compare orders two numbers by their exact values, without arithmetic: that of
// 1e999999999 has no bounds.
func (a decimal) compare(b decimal) int {
	if a.sign != b.sign {
		return cmp.Compare(a.sign, b.sign)
	}
	return a.sign * cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.digits, b.digits))
}

// round returns the next integer from n in the direction of sign.
func (n Number) round(sign int) Number {
	d := n.decimal()
	if d.point >= len(d.digits) {
		return n
	}
	whole := d.integer(d.digits[:max(d.point, 0)])
	if d.sign == sign {
		whole.Add(whole, big.NewInt(int64(sign)))
	}
	return exactNumber(whole.String())
}

// integer returns digits as an integer with the sign of d.
func (d decimal) integer(digits string) *big.Int {
	i, _ := new(big.Int).SetString("0"+digits, 10)
	return i.Mul(i, big.NewInt(int64(d.sign)))
}
