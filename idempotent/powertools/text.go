package powertools

import (
	"fmt"
	"slices"

	"github.com/lambda-once/once/internal/jmespath"
)

// canonicalText returns the text that is hashed.
func canonicalText(d Dialect, v any) ([]byte, error) {
	if d.engine().SelectsText() {
		return scalarText(d, v)
	}
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

// scalarText returns the text that Java and .NET hash: the value without quotes.
func scalarText(d Dialect, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		if d == DotNet {
			return nil, nil
		}
	case string:
		if jmespath.HasSurrogate(v) {
			return nil, inapplicable("the selected string contains a lone surrogate")
		}
		return []byte(v), nil
	case jmespath.Number:
		if d == Java {
			return []byte(v), nil
		}
	case bool:
		if d == Java {
			return fmt.Append(nil, v), nil
		}
	}
	return nil, inapplicable("what " + d.String() + " hashes of the selected value depends on the class of the event: select a string")
}
