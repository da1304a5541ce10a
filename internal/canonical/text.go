package canonical

import (
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
func (c *canonicalizer) text() error {
	from := c.pos // the start of the bytes that can be copied
	i := from + 1
	for i < len(c.raw) {
		b := c.raw[i]
		switch {
		case plain[b]:
			i++
		case b == '"':
			c.dst = append(c.dst, c.raw[from:i+1]...)
			c.pos = i + 1
			return nil
		case b == '\\':
			c.dst = append(c.dst, c.raw[from:i]...)
			c.pos = i
			if err := c.escape(); err != nil {
				return err
			}
			i, from = c.pos, c.pos
		case b < ' ':
			c.pos = i
			return c.fail("control character in a string")
		default:
			r, n := utf8.DecodeRune(c.raw[i:])
			if r == utf8.RuneError && n == 1 {
				c.pos = i
				return c.fail("invalid UTF-8")
			}
			i += n
		}
	}
	c.pos = i
	return c.fail("unexpected end")
}

func (c *canonicalizer) escape() error {
	rest := c.raw[c.pos+1:]
	if len(rest) == 0 {
		c.pos = len(c.raw)
		return c.fail("unexpected end")
	}
	switch b := rest[0]; {
	case b == 'u':
		return c.unicodeEscape(rest[1:])
	case b == '/':
		c.dst = append(c.dst, '/')
	case strings.IndexByte(shortEscapes, b) >= 0:
		c.dst = append(c.dst, '\\', b)
	default:
		return c.fail("unknown escape")
	}
	c.pos += 2
	return nil
}

func (c *canonicalizer) unicodeEscape(digits []byte) error {
	r, ok := hex4(digits)
	if !ok {
		return c.fail("incomplete escape")
	}
	n := len(`\u0000`)
	if utf16.IsSurrogate(r) {
		low, ok := rune(0), false
		if len(digits) > 5 && digits[4] == '\\' && digits[5] == 'u' {
			low, ok = hex4(digits[6:])
		}
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return c.fail("lone surrogate")
		}
		n *= 2
	} else if r == utf8.RuneError && c.marshalled {
		return c.fail("invalid UTF-8 before it was marshalled")
	}
	c.dst = AppendEscaped(c.dst, r)
	c.pos += n
	return nil
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

func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, b := range s[:4] {
		switch {
		case isDigit(b):
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}
