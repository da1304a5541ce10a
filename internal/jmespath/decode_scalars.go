package jmespath

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxDigits is the limit of Python, which does not decode a longer integer.
const maxDigits = 4300

// A Number is a number that is exact: in Exact any, in the canonical form of
// package canonical; in Python an integer. All numbers of TypeScript, and those of
// Python with a fraction or an exponent, are float64s.
type Number string

// string decodes a string. One without escapes is a part of the text.
func (p *decoder) string() string {
	p.pos++
	start := p.pos
	var dst []byte // up to start, if there was an escape
	for p.pos < len(p.text) && p.text[p.pos] >= ' ' {
		p.pos++
		switch p.text[p.pos-1] {
		case '"':
			rest := p.text[start : p.pos-1]
			if dst == nil {
				return rest
			}
			s := string(append(dst, rest...))
			if p.dialect == TypeScript {
				s = joinSurrogates(s)
			}
			return s
		case '\\':
			dst = append(dst, p.text[start:p.pos-1]...)
			dst = AppendRune(dst, p.escape())
			start = p.pos
		}
	}
	panic(p.failure("control character in a string"))
}

func (p *decoder) escape() rune {
	b := p.peek()
	if i := strings.IndexByte(`"\/bfnrt`, b); i >= 0 {
		p.pos++
		return rune("\"\\/\b\f\n\r\t"[i])
	}
	if b != 'u' {
		panic(p.failure("unknown escape"))
	}
	p.pos++
	r, ok := p.hex()
	if !ok {
		panic(p.failure("expected four hexadecimal digits"))
	}
	if utf16.IsSurrogate(r) && strings.HasPrefix(p.text[p.pos:], `\u`) {
		back := p.pos
		p.pos += 2
		low, ok := p.hex()
		if pair := utf16.DecodeRune(r, low); ok && pair != '\ufffd' {
			return pair
		}
		p.pos = back // the second escape is no part of the first
	}
	return r
}

func (p *decoder) hex() (rune, bool) {
	var r rune
	for range 4 {
		n := strings.IndexByte("0123456789abcdef", p.peek()|0x20)
		if n < 0 || p.peek() < '0' {
			return 0, false
		}
		r = r<<4 | rune(n)
		p.pos++
	}
	return r, true
}

// atNumber reports whether a number begins here, and none of the words of Python.
func (p *decoder) atNumber() bool {
	b := p.peek()
	return '0' <= b && b <= '9' || b == '-' && !strings.HasPrefix(p.text[p.pos:], "-I")
}

func (p *decoder) number() any {
	token, integer := p.token()
	switch {
	case p.dialect == TypeScript || p.dialect == Python && !integer:
		// The error of a number that is out of range comes with the infinity
		// that both languages have then.
		f, _ := strconv.ParseFloat(token, 64)
		return f
	case token == "-0":
		return Number("0")
	}
	return Number(token)
}

// token reads the text of a number.
func (p *decoder) token() (text string, integer bool) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	digits := p.pos
	if !p.digits() || p.text[digits] == '0' && p.pos > digits+1 {
		p.pos = start
		panic(p.failure("expected a value"))
	}
	whole := p.pos
	if p.peek() == '.' {
		p.pos++
		p.requireDigits()
	}
	if p.peek()|0x20 == 'e' {
		if p.pos++; p.peek() == '+' || p.peek() == '-' {
			p.pos++
		}
		p.requireDigits()
	}
	integer = p.pos == whole
	if integer && p.dialect == Python && whole-digits > maxDigits {
		p.pos = start
		panic(p.failure("an integer that Python does not decode"))
	}
	return p.text[start:p.pos], integer
}

// words are the values without digits, quotes and brackets. Only Python takes three of
// them for numbers.
var words = []struct {
	text  string
	value any
}{
	{"true", true}, {"false", false}, {"null", nil},
	{"NaN", math.NaN()}, {"Infinity", math.Inf(1)}, {"-Infinity", math.Inf(-1)},
}

func (p *decoder) word() any {
	for _, w := range words {
		_, number := w.value.(float64)
		if strings.HasPrefix(p.text[p.pos:], w.text) && (!number || p.dialect == Python) {
			p.pos += len(w.text)
			return w.value
		}
	}
	panic(p.failure("expected a value"))
}

func (p *decoder) digits() bool {
	start := p.pos
	for '0' <= p.peek() && p.peek() <= '9' {
		p.pos++
	}
	return p.pos > start
}

func (p *decoder) requireDigits() {
	if !p.digits() {
		panic(p.failure("expected a digit"))
	}
}
