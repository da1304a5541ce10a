package powertools

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A style is how a language writes a value as JSON.
type style struct {
	comma, colon string
	keys         func(*object) []string
	string       func(dst []byte, s string) []byte
	float        func(dst []byte, f float64) []byte
}

// canonicalStyle writes what is hashed: json.dumps with sorted keys in Python,
// JSON.stringify after Powertools' own sort in TypeScript.
func canonicalStyle(d Dialect) style {
	s := plainStyle(d)
	if d == TypeScript {
		s.keys = sortedTypeScriptKeys
		return s
	}
	s.comma, s.colon, s.keys = ", ", ": ", func(o *object) []string { return slices.Sorted(slices.Values(o.keys)) }
	return s
}

// plainStyle writes the result of the JMESPath function to_string.
func plainStyle(d Dialect) style {
	keys := func(o *object) []string { return o.ordered(d) }
	if d == TypeScript {
		return style{",", ":", keys, appendTypeScriptString, appendTypeScriptFloat}
	}
	return style{",", ":", keys, appendPythonString, appendPythonFloat}
}

func (s style) append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case integer:
		return append(dst, v...)
	case float64:
		return s.float(dst, v)
	case string:
		return s.string(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, s.comma...)
			}
			dst = s.append(dst, e)
		}
		return append(dst, ']')
	case *object:
		dst = append(dst, '{')
		before := len(dst)
		for _, key := range s.keys(v) {
			e := v.members[key]
			if e == (undefined{}) {
				continue
			}
			if len(dst) > before {
				dst = append(dst, s.comma...)
			}
			dst = append(s.string(dst, key), s.colon...)
			dst = s.append(dst, e)
		}
		return append(dst, '}')
	default: // nil, and undefined in a list
		return append(dst, "null"...)
	}
}

func appendPythonString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for s != "" {
		r, n := nextRune(s)
		switch s = s[n:]; {
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		case r >= 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = appendASCII(dst, byte(r))
		}
	}
	return append(dst, '"')
}

func appendTypeScriptString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for s != "" {
		r, n := nextRune(s)
		switch {
		case utf16.IsSurrogate(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		case r >= 0x7f:
			dst = append(dst, s[:n]...)
		default:
			dst = appendASCII(dst, byte(r))
		}
		s = s[n:]
	}
	return append(dst, '"')
}

// appendASCII escapes what both languages escape in the same way.
func appendASCII(dst []byte, b byte) []byte {
	switch i := strings.IndexByte("\"\\\b\f\n\r\t", b); {
	case i >= 0:
		return append(dst, '\\', `"\bfnrt`[i])
	case b < ' ':
		return fmt.Appendf(dst, `\u%04x`, b)
	default:
		return append(dst, b)
	}
}

// appendPythonFloat writes repr(f), and the words of json.dumps that are not
// JSON.
func appendPythonFloat(dst []byte, f float64) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case abs != 0 && (abs < 1e-4 || abs >= 1e16):
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	before := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[before:], '.') {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendTypeScriptFloat writes a number as ECMAScript does.
func appendTypeScriptFloat(dst []byte, f float64) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case abs == 0:
		return append(dst, '0') // also for -0
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // 1e-07
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
