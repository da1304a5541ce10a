package crashtest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// otherPayload returns an event with the same key and another payload, or nil if there is
// none: see Function.AnyPayload.
func otherPayload(event []byte, run string) []byte {
	for _, change := range []func(leaf any) any{
		func(leaf any) any { // a body in an envelope
			if text, ok := leaf.(string); ok && strings.HasPrefix(text, "{") {
				if other := otherPayload([]byte(text), run); other != nil {
					return string(other)
				}
			}
			return leaf
		},
		func(leaf any) any {
			if n, ok := leaf.(json.Number); ok {
				positive, negative := strings.CutPrefix(n.String(), "-")
				if negative {
					return json.Number(positive)
				}
				return json.Number("1" + positive)
			}
			return leaf
		},
		func(leaf any) any {
			if text, ok := leaf.(string); ok && !strings.Contains(text, run) {
				return text + "x"
			}
			return leaf
		},
	} {
		same := func(leaf any) any { return leaf }
		if other := edited(event, change); !bytes.Equal(other, edited(event, same)) {
			return other
		}
	}
	return nil
}

// edited returns nil if the text is not JSON.
func edited(text []byte, change func(leaf any) any) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(edit(v, change))
	if err != nil {
		return nil
	}
	return out
}

func edit(v any, change func(leaf any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = edit(v[name], change)
		}
		return v
	case []any:
		for i := range v {
			v[i] = edit(v[i], change)
		}
		return v
	}
	return change(v)
}
