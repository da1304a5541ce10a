package powertools

import (
	"slices"
	"strings"
	"unicode"

	"github.com/lambda-once/once/internal/jmespath"
)

// sortedTypeScriptKeys returns the keys of an object that Powertools for
// TypeScript has sorted: by toLowerCase, compared as UTF-16, and stable. The
// object that it builds moves array indices to the front all the same, and has
// no member __proto__: assigning to that name sets the prototype instead.
func sortedTypeScriptKeys(o *jmespath.Object) []string {
	type sortable struct {
		key   string
		lower []uint16
	}
	list := make([]sortable, 0, len(o.Keys))
	for _, key := range o.Keys {
		if key != "__proto__" {
			list = append(list, sortable{key, jmespath.Units(toLowerCase(key))})
		}
	}
	slices.SortStableFunc(list, func(a, b sortable) int { return slices.Compare(a.lower, b.lower) })
	keys := make([]string, len(list))
	for i, s := range list {
		keys[i] = s.key
	}
	slices.SortStableFunc(keys, jmespath.CompareIndices)
	return keys
}

// toLowerCase is that of ECMAScript: package unicode, the one letter that
// becomes two, and the sigma that ends a word.
func toLowerCase(s string) string {
	list := jmespath.Runes(s)
	dst := make([]byte, 0, len(s)+2)
	for i, r := range list {
		switch {
		case r == 'İ':
			dst = append(dst, "i\u0307"...)
		case r == 'Σ' && endsWord(list, i):
			dst = append(dst, "ς"...)
		default:
			dst = jmespath.AppendRune(dst, unicode.ToLower(r))
		}
	}
	return string(dst)
}

// endsWord reports whether there is a letter before list[i] and none after it. It
// skips the characters that the rules of case ignore.
func endsWord(list []rune, i int) bool {
	before, after := i-1, i+1
	for before >= 0 && caseIgnorable(list[before]) {
		before--
	}
	for after < len(list) && caseIgnorable(list[after]) {
		after++
	}
	return before >= 0 && cased(list[before]) && (after == len(list) || !cased(list[after]))
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// wordBreaks are the characters inside a word (Word_Break MidLetter, MidNumLet
// and Single_Quote) that none of the categories below contains.
const wordBreaks = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune(wordBreaks, r)
}

// newLetters are the capital letters that Unicode 16 and 17 brought.
var newLetters = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1c89, 0x1c89, 1}, {0xa7cb, 0xa7cc, 1}, {0xa7ce, 0xa7d2, 4}, {0xa7d4, 0xa7da, 6}, {0xa7dc, 0xa7dc, 1},
	},
	R32: []unicode.Range32{{0x10d50, 0x10d65, 1}, {0x16ea0, 0x16eb8, 1}},
}

// varies reports whether the lower case of a key depends on the version of Node:
// it contains one of the new letters, or a sigma beside a code point whose case differs by version.
func varies(key string) bool {
	sigma := strings.ContainsRune(key, 'Σ')
	return strings.ContainsFunc(key, func(r rune) bool {
		return unicode.Is(newLetters, r) ||
			sigma && (unicode.Is(unicode.Cn, r) || r == 'ʕ' || r == 0x1171e) // two that have changed since
	})
}

// orderVaries reports whether the order of any members does.
func orderVaries(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, orderVaries)
	case *jmespath.Object:
		for key, e := range v.Members {
			if len(v.Keys) > 1 && varies(key) || orderVaries(e) {
				return true
			}
		}
	}
	return false
}

// canonicalText returns the text that is hashed.
func canonicalText(d Dialect, v any) ([]byte, error) {
	if d == TypeScript && orderVaries(v) {
		return nil, inapplicable("a member's name contains a letter whose order depends on the version of Node")
	}
	return canonicalStyle(d).Append(make([]byte, 0, 256), v), nil
}

// canonicalStyle is that of json.dumps with sorted keys in Python, and of
// JSON.stringify after Powertools' own sort in TypeScript.
func canonicalStyle(d Dialect) jmespath.Style {
	s := jmespath.PlainStyle(d.engine())
	if d == TypeScript {
		s.Keys = sortedTypeScriptKeys
		return s
	}
	s.Comma, s.Colon, s.Keys = ", ", ": ", func(o *jmespath.Object) []string { return slices.Sorted(slices.Values(o.Keys)) }
	return s
}
