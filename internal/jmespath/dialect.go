// Package jmespath evaluates JMESPath expressions on JSON, with the numbers and strings
// of a [Dialect]. It has the part of the language that selects a key. An expression that
// is compiled is checked: it fails later only because of the JSON.
package jmespath

// A Dialect is the implementation of JMESPath whose results an expression has.
// They differ in their numbers, the order of an object's members, and a few points of
// the grammar.
type Dialect uint8

const (
	// Exact has numbers that are exact decimals, objects in the order of their keys,
	// and the slices of strings of JMESPath Community.
	Exact Dialect = iota
	// TypeScript is @aws-lambda-powertools/jmespath.
	TypeScript
	// Python is jmespath of Python, as Powertools calls it.
	Python
)

var dialectNames = []string{Exact: "exact", TypeScript: "typescript", Python: "python"}

func (d Dialect) String() string { return dialectNames[d] }

// An Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	root    *node
	dialect Dialect
}

// Compile returns the expression, or an error that says which part of it is
// invalid or refused. Without decoders, it does not know the functions that
// Powertools adds.
func Compile(d Dialect, text string, decoders bool) (e *Expression, err error) {
	defer catch(&err)
	return &Expression{parse(d, text, decoders), d}, nil
}

// Search applies the expression to a decoded value.
//
// Its errors are of type [*canonical.Error], except for [ErrNoContent].
func (e *Expression) Search(v any) (result any, err error) {
	defer catch(&err)
	return e.root.evaluate(e.dialect, v), nil
}

// A failure is the panic with which the decoder, the parser and the functions end
// Decode, Compile or Search, as in package text/template.
type failure struct{ error }

// catch sets err to the error of a failure. It is deferred.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}

// must returns v, and fails with an error.
func must[T any](v T, err error) T {
	if err != nil {
		fail(err)
	}
	return v
}

// fail panics with a failure. The audit of error types sees its argument, but not that of
// a panic.
func fail(err error) { panic(failure{err}) }
