package jmespath

import (
	"math"
	"strings"

	"github.com/lambda-once/once/internal/canonical"
)

// A function of JMESPath.
type function struct {
	// parameters are the types that each argument may have: s is a string, n a
	// number, l a list, o an object, * any value, & an expression reference, c a
	// literal count and p a position in a string. ? ends a parameter that is
	// optional, and + one that may be repeated.
	parameters []string
	evaluate   func(call) any
}

// A call is one of a function. Its arguments are evaluated, except for an
// expression reference: apply evaluates that.
type call struct {
	dialect Dialect
	name    string
	args    []any
	apply   func(any) any
}

func f(parameters string, evaluate func(call) any) function {
	return function{strings.Fields(parameters), evaluate}
}

// functions are those of every dialect.
var functions = map[string]function{
	"abs": f("n", absolute), "avg": f("l", average), "ceil": f("n", rounded(1, math.Ceil)), "contains": f("ls *", contains),
	"ends_with": f("s s", compareText(strings.HasSuffix)), "floor": f("n", rounded(-1, math.Floor)), "join": f("s l", join), "keys": f("o", keys),
	"length": f("slo", length), "map": f("& l", mapped), "max": f("l", extreme(1)), "max_by": f("l &", extreme(1)),
	"merge": f("o+", merge), "min": f("l", extreme(-1)), "min_by": f("l &", extreme(-1)), "not_null": f("*+", notNull),
	"reverse": f("sl", reverse), "sort": f("l", sorted), "sort_by": f("l &", sorted), "starts_with": f("s s", compareText(strings.HasPrefix)),
	"sum": f("l", sum), "to_array": f("*", toArray), "to_number": f("*", toNumber), "to_string": f("*", toString),
	"type": f("*", typeOf), "values": f("o", values),

	"powertools_json": f("*", decoding(decodeJSON)), "powertools_base64": f("*", decoding(decodeBase64)),
	"powertools_base64_gzip": f("*", decoding(decodeGzip)),
}

// community are the functions of JMESPath Community, which only Exact has.
var community = map[string]function{
	"find_first": f("s s p? p?", find(strings.Index)), "find_last": f("s s p? p?", find(strings.LastIndex)), "from_items": f("l", fromItems),
	"group_by": f("l &", groupBy), "items": f("o", items), "lower": f("s", convert(strings.ToLower)), "pad_left": f("s c s?", padLeft),
	"pad_right": f("s c s?", padRight), "replace": f("s s s c?", replace), "split": f("s s c?", split),
	"trim": f("s s?", trim(strings.TrimFunc)), "trim_left": f("s s?", trim(strings.TrimLeftFunc)), "trim_right": f("s s?", trim(strings.TrimRightFunc)),
	"upper": f("s", convert(strings.ToUpper)), "zip": f("l l+", zip),
}

func lookup(d Dialect, name string) (function, bool) {
	f, ok := functions[name]
	if !ok && d == Exact {
		f, ok = community[name]
	}
	return f, ok
}

// isDecoder reports whether a function is one that Powertools adds.
func isDecoder(name string) bool { return strings.HasPrefix(name, "powertools_") }

// parameter returns the one that an argument is for.
func (f function) parameter(i int) string { return f.parameters[min(i, len(f.parameters)-1)] }

// takes reports whether the function can be called with n arguments.
func (f function) takes(n int) bool {
	required := 0
	for _, p := range f.parameters {
		if !strings.HasSuffix(p, "?") {
			required++
		}
	}
	last := f.parameters[len(f.parameters)-1]
	return n >= required && (n <= len(f.parameters) || strings.HasSuffix(last, "+"))
}

func (n *node) call(in scope, v any) any {
	f, _ := lookup(in.dialect, n.text)
	c := call{dialect: in.dialect, name: n.text, args: make([]any, len(n.children))}
	for i, child := range n.children {
		if child.kind == "&" {
			c.apply = func(e any) any { return child.children[0].evaluate(in, e) }
		} else {
			c.args[i] = child.evaluate(in, v)
		}
	}
	for i, arg := range c.args {
		if p := f.parameter(i); p != "&" && !accepts(p, arg) {
			panic(c.failure())
		}
	}
	return f.evaluate(c)
}

func accepts(parameter string, v any) bool {
	switch v.(type) {
	case string:
		return strings.ContainsAny(parameter, "s*")
	case []any:
		return strings.ContainsAny(parameter, "l*")
	case *Object:
		return strings.ContainsAny(parameter, "o*")
	case Number, float64:
		return strings.ContainsAny(parameter, "n*cp")
	}
	return strings.Contains(parameter, "*")
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
