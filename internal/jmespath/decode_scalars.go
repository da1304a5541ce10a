package jmespath

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDigits is the limit of Python, which does not decode a longer integer.
const maxDigits = 4300

func (p *decoder) string() (string, error) {
	p.pos++
	start := p.pos
	for ; p.pos < len(p.text) && p.text[p.pos] >= ' '; p.pos++ {
		switch p.text[p.pos] {
		case '"':
			s := p.text[start:p.pos]
			p.pos++
			return s, nil
		case '\\':
			return p.escaped([]byte(p.text[start:p.pos]))
		}
	}
	return "", p.fail("control character in a string")
}

// escaped decodes the rest of a string, from its first escape.
func (p *decoder) escaped(dst []byte) (string, error) {
	for p.pos < len(p.text) && p.text[p.pos] >= ' ' {
		b := p.text[p.pos]
		p.pos++
		switch b {
		case '"':
			if p.dialect == TypeScript {
				return joinSurrogates(string(dst)), nil
			}
			return string(dst), nil
		case '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			if p.dialect == Exact {
				dst = utf8.AppendRune(dst, r) // U+FFFD for a lone surrogate
			} else {
				dst = AppendRune(dst, r)
			}
		default:
			dst = append(dst, b)
		}
	}
	return "", p.fail("control character in a string")
}

func (p *decoder) escape() (rune, error) {
	b := p.peek()
	p.pos++
	if i := strings.IndexByte(`"\/bfnrt`, b); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if b != 'u' {
		p.pos--
		return 0, p.fail("unknown escape")
	}
	r, ok := p.hex()
	if !ok {
		return 0, p.fail("expected four hexadecimal digits")
	}
	if utf16.IsSurrogate(r) && strings.HasPrefix(p.text[p.pos:], `\u`) {
		back := p.pos
		p.pos += 2
		low, ok := p.hex()
		if pair := utf16.DecodeRune(r, low); ok && pair != '\ufffd' {
			return pair, nil
		}
		p.pos = back // the second escape is no part of the first
	}
	return r, nil
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

func (p *decoder) number() (any, error) {
	start := p.pos
	if p.peek() == '-' {
		if p.pos++; p.peek() == 'I' {
			p.pos--
			return p.notNumber()
		}
	}
	digits := p.pos
	if !p.digits() || p.text[digits] == '0' && p.pos > digits+1 {
		p.pos = start
		return nil, p.fail("expected a value")
	}
	whole := p.pos
	if p.peek() == '.' {
		if p.pos++; !p.digits() {
			return nil, p.fail("expected a digit")
		}
	}
	if p.peek()|0x20 == 'e' {
		if p.pos++; p.peek() == '+' || p.peek() == '-' {
			p.pos++
		}
		if !p.digits() {
			return nil, p.fail("expected a digit")
		}
	}
	token := p.text[start:p.pos]
	switch {
	case p.dialect == Exact:
		return exactNumber(token)
	case p.dialect == TypeScript || p.pos > whole:
		// The error of a number that is out of range comes with the infinity
		// that both languages have then.
		f, _ := strconv.ParseFloat(token, 64)
		return f, nil
	case token == "-0":
		return Number("0"), nil
	case p.dialect == Python && whole-digits > maxDigits:
		p.pos = start
		return nil, p.fail("an integer that Python does not decode")
	}
	return Number(token), nil
}

// notNumber decodes the three words that only Python takes for numbers.
func (p *decoder) notNumber() (any, error) {
	if p.dialect == Python {
		for word, f := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)} {
			if strings.HasPrefix(p.text[p.pos:], word) {
				p.pos += len(word)
				return f, nil
			}
		}
	}
	return nil, p.fail("expected a value")
}

func (p *decoder) digits() bool {
	start := p.pos
	for '0' <= p.peek() && p.peek() <= '9' {
		p.pos++
	}
	return p.pos > start
}
