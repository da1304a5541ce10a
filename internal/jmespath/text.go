package jmespath

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/lambda-once/once/internal/canonical"
)

// A Style is how a value is written as JSON.
type Style struct {
	Comma, Colon string
	Keys         func(*Object) []string

	dialect Dialect // of strings and numbers
}

// PlainStyle is that of the JMESPath function to_string.
func PlainStyle(d Dialect) Style {
	return Style{",", ":", func(o *Object) []string { return o.ordered(d) }, d}
}

// Canonical returns the canonical JSON of a value in Exact.
func Canonical(v any) ([]byte, error) {
	unordered := Style{",", ":", func(o *Object) []string { return o.Keys }, Exact}
	return canonical.Append(nil, unordered.Append(nil, v))
}

// Append appends the JSON of a value to dst.
func (s Style) Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case Number:
		return append(dst, v...)
	case float64:
		if s.dialect == TypeScript {
			return appendTypeScriptFloat(dst, v)
		}
		return appendPythonFloat(dst, v)
	case string:
		return s.appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, s.Comma...)
			}
			dst = s.Append(dst, e)
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		before := len(dst)
		for _, key := range s.Keys(v) {
			e := v.Members[key]
			if e == (Undefined{}) {
				continue
			}
			if len(dst) > before {
				dst = append(dst, s.Comma...)
			}
			dst = append(s.appendString(dst, key), s.Colon...)
			dst = s.Append(dst, e)
		}
		return append(dst, '}')
	default: // nil, and Undefined in a list
		return append(dst, "null"...)
	}
}

// appendString escapes all that is not ASCII in Python. TypeScript and Exact escape
// only lone surrogates, of which Exact has none.
func (s Style) appendString(dst []byte, text string) []byte {
	python := s.dialect == Python
	dst = append(dst, '"')
	for text != "" {
		r, n := nextRune(text)
		switch {
		case python && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		case python && r >= 0x7f || utf16.IsSurrogate(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		case r >= 0x7f:
			dst = append(dst, text[:n]...)
		default:
			dst = canonical.AppendEscaped(dst, r)
		}
		text = text[n:]
	}
	return append(dst, '"')
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

// appendTypeScriptFloat writes a number as ECMAScript does, which encoding/json follows.
func appendTypeScriptFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0') // also for -0
	}
	return append(dst, must(json.Marshal(f))...)
}
