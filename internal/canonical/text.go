package canonical

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// plain contains the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for b := ' '; b < utf8.RuneSelf; b++ {
		t[b] = b != '"' && b != '\\'
	}
	return t
}()

// text reads a string and writes it with the escapes of RFC 8785, which are
// those of ECMAScript's JSON.stringify.
func (c *canonicalizer) text() {
	from := c.pos // the start of the bytes that can be copied
	c.pos++
	for c.pos < len(c.raw) {
		b := c.raw[c.pos]
		switch {
		case plain[b]:
			c.pos++
		case b == '"':
			c.pos++
			c.dst = append(c.dst, c.raw[from:c.pos]...)
			return
		case b == '\\':
			c.dst = append(c.dst, c.raw[from:c.pos]...)
			c.escape()
			from = c.pos
		case b < ' ':
			panic(c.failure("control character in a string"))
		default:
			r, n := utf8.DecodeRune(c.raw[c.pos:])
			if r == utf8.RuneError && n == 1 {
				panic(c.failure("invalid UTF-8"))
			}
			c.pos += n
		}
	}
	panic(c.failure("unexpected end"))
}

func (c *canonicalizer) escape() {
	rest := c.raw[c.pos+1:]
	if len(rest) == 0 {
		c.pos = len(c.raw)
		panic(c.failure("unexpected end"))
	}
	switch b := rest[0]; {
	case b == 'u':
		c.unicodeEscape(rest[1:])
		return
	case b == '/':
		c.dst = append(c.dst, '/')
	case strings.IndexByte(shortEscapes, b) >= 0:
		c.dst = append(c.dst, '\\', b)
	default:
		panic(c.failure("unknown escape"))
	}
	c.pos += 2
}

func (c *canonicalizer) unicodeEscape(digits []byte) {
	r, ok := hex4(digits)
	if !ok {
		panic(c.failure("incomplete escape"))
	}
	n := len(`\u0000`)
	if utf16.IsSurrogate(r) {
		low, ok := rune(0), false
		if len(digits) > 5 && digits[4] == '\\' && digits[5] == 'u' {
			low, ok = hex4(digits[6:])
		}
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			panic(c.failure("lone surrogate"))
		}
		n *= 2
	} else if r == utf8.RuneError && c.marshalled {
		panic(c.failure("invalid UTF-8 before it was marshalled"))
	}
	c.dst = AppendEscaped(c.dst, r)
	c.pos += n
}

// The characters with an escape of two bytes, and the second byte of each.
const (
	shortEscaped = "\"\\\b\f\n\r\t"
	shortEscapes = `"\bfnrt`
)

// AppendEscaped appends a character of a string, with the escapes of RFC 8785.
func AppendEscaped(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if r >= utf8.RuneSelf {
		return utf8.AppendRune(dst, r)
	}
	switch i := strings.IndexByte(shortEscaped, byte(r)); {
	case i >= 0:
		return append(dst, '\\', shortEscapes[i])
	case r < ' ':
		return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	default:
		return append(dst, byte(r))
	}
}

func hex4(s []byte) (rune, bool) {
	r, err := strconv.ParseUint(string(s[:min(len(s), 4)]), 16, 16)
	return rune(r), err == nil && len(s) >= 4
}
