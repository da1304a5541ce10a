package jmespath

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A decoded JSON value is nil, a bool, a [Number], a float64, a string, a []any
// or an [*Object]. Values are never modified.
//
// A string is generalized UTF-8, in which a lone surrogate has three bytes of
// its own. encoding/json would replace it by U+FFFD, as two strings with one key.

// Undefined is the value of that name in TypeScript.
type Undefined struct{}

// An Object keeps its members in the order in which they first appeared.
type Object struct {
	Keys    []string
	Members map[string]any
}

func newObject(n int) *Object {
	return &Object{make([]string, 0, n), make(map[string]any, n)}
}

// set adds a member. A duplicate key has the place of the first and the value of
// the last, as in Python and TypeScript.
func (o *Object) set(key string, v any) {
	if _, ok := o.Members[key]; !ok {
		o.Keys = append(o.Keys, key)
	}
	o.Members[key] = v
}

// ordered returns the keys in the order in which the language iterates over
// them. In TypeScript, array indices come first. Exact has an order of its own, so
// that equal objects have one.
func (o *Object) ordered(d Dialect) []string {
	switch {
	case d == Exact:
		return slices.Sorted(slices.Values(o.Keys))
	case d == TypeScript && slices.ContainsFunc(o.Keys, isArrayIndex):
		keys := slices.Clone(o.Keys)
		slices.SortStableFunc(keys, CompareIndices)
		return keys
	}
	return o.Keys
}

// CompareIndices orders array indices by number and before any other key.
func CompareIndices(a, b string) int {
	switch i, j := isArrayIndex(a), isArrayIndex(b); {
	case i && j:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case i:
		return -1
	case j:
		return 1
	default:
		return 0
	}
}

// isArrayIndex reports whether a key is an array index of ECMAScript.
func isArrayIndex(key string) bool {
	n, err := strconv.ParseUint(key, 10, 32)
	return err == nil && n < 1<<32-1 && strconv.FormatUint(n, 10) == key
}

// nextRune decodes the first code point of generalized UTF-8.
func nextRune(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 {
		return rune(s[0]&0xf)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}

// AppendRune is the inverse of nextRune.
func AppendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// Runes returns the code points of a string.
func Runes(s string) []rune {
	list := make([]rune, 0, len(s))
	for s != "" {
		r, n := nextRune(s)
		list, s = append(list, r), s[n:]
	}
	return list
}

// Units returns the UTF-16 of a string. TypeScript orders strings by it.
func Units(s string) []uint16 {
	list := make([]uint16, 0, len(s))
	for s != "" {
		r, n := nextRune(s)
		if s = s[n:]; r > 0xffff {
			list = utf16.AppendRune(list, r)
		} else {
			list = append(list, uint16(r))
		}
	}
	return list
}

// HasSurrogate reports whether a string contains a lone surrogate.
func HasSurrogate(s string) bool {
	for i := range len(s) - 2 {
		if s[i] == 0xed && s[i+1] >= 0xa0 {
			return true
		}
	}
	return false
}

// joinSurrogates makes one code point of each two surrogates that have become
// neighbours, as the UTF-16 of TypeScript does by itself.
func joinSurrogates(s string) string {
	if !HasSurrogate(s) {
		return s
	}
	var dst []byte
	for list := Runes(s); len(list) > 0; list = list[1:] {
		r := list[0]
		if len(list) > 1 && utf16.DecodeRune(r, list[1]) != utf8.RuneError {
			r, list = utf16.DecodeRune(r, list[1]), list[1:]
		}
		dst = AppendRune(dst, r)
	}
	return string(dst)
}
