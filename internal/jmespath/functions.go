package jmespath

import (
	"strings"

	"github.com/lambda-once/once/internal/canonical"
)

// functions are those that write parts of a key as one text, and the decoders that
// Powertools adds.
var functions = map[string]struct {
	parameters int
	evaluate   func(call) any
}{
	"join": {2, join}, "to_string": {1, toString},

	"powertools_json": {1, decoding(Decode)}, "powertools_base64": {1, decoding(decodeBase64)},
	"powertools_base64_gzip": {1, decoding(decodeGzip)},
}

// A call is one of a function. Its arguments are evaluated.
type call struct {
	dialect Dialect
	name    string
	args    []any
}

func (n *node) call(d Dialect, v any) any {
	c := call{d, n.text, make([]any, len(n.children))}
	for i, child := range n.children {
		c.args[i] = child.evaluate(d, v)
	}
	return functions[n.text].evaluate(c)
}

// failure reports arguments that the dialect refuses too, or to which it applies the
// function by accident.
func (c call) failure() failure {
	return inapplicable("the arguments of " + c.name + " have the wrong type or value")
}

// inapplicable reports that an expression does not apply to an event. The
// language itself fails then, or has a rule that this package leaves out.
func inapplicable(reason string) failure {
	return failure{&canonical.Error{Offset: -1, Reason: "the key expression does not apply to it: " + reason}}
}

func join(c call) any {
	glue, isText := c.args[0].(string)
	list, isList := c.args[1].([]any)
	if !isText || !isList {
		panic(c.failure())
	}
	parts := make([]string, len(list))
	for i, e := range list {
		var ok bool
		if parts[i], ok = e.(string); !ok {
			panic(c.failure())
		}
	}
	text := strings.Join(parts, glue)
	if c.dialect == TypeScript {
		text = joinSurrogates(text)
	}
	return text
}

func toString(c call) any {
	switch v := c.args[0].(type) {
	case string, Undefined:
		return v
	}
	if c.dialect == Exact {
		return string(must(Canonical(c.args[0])))
	}
	return string(PlainStyle(c.dialect).Append(nil, c.args[0]))
}
