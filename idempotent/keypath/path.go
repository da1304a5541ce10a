package keypath

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/canonical"
)

// Path returns a key function that evaluates expr, a JMESPath expression, on
// the JSON of a request to get Key.ID. A request of type json.RawMessage or
// []byte is JSON text itself; any other is marshalled.
//
// Path panics if expr is invalid or refused, as regexp.MustCompile does: no
// request could make it valid. The key function returns an
// [*idempotent.InvalidPayloadError] for a request without canonical JSON, and
// for one to which a function of the expression does not apply. It returns an
// [*idempotent.MissingKeyError] with the Part "id", and expr as its At, if the
// expression finds no key.
func Path[Req any](expr string) func(Req) (idempotent.Key, error) {
	path, err := compilePath(expr)
	if err != nil {
		panic(fmt.Sprintf("keypath: Path(%q): %v", expr, err))
	}
	return func(req Req) (idempotent.Key, error) {
		id, err := path.id(req)
		if err != nil {
			return idempotent.Key{}, err
		}
		return idempotent.Key{ID: id}, nil
	}
}

type keyPath struct {
	root parsing.ASTNode
	expr string
}

func compilePath(expr string) (keyPath, error) {
	if !utf8.ValidString(expr) {
		return keyPath{}, errors.New("invalid UTF-8")
	}
	if strings.ContainsRune(expr, '\u0080') { // the parser panics on it
		return keyPath{}, errors.New("the control character U+0080")
	}
	root, err := parsing.NewParser().Parse(expr)
	if err != nil {
		return keyPath{}, syntaxError(expr, err)
	}
	return keyPath{root, expr}, checkExpression(&root)
}

func (p keyPath) id(req any) (string, error) {
	text, err := canonical.AppendValue(make([]byte, 0, 512), req)
	if err != nil {
		return "", invalidPayload(err)
	}
	data, err := canonical.Decode(text)
	if err != nil {
		return "", invalidPayload(err)
	}
	caller := pathCaller{}
	result, err := interpreter.NewInterpreter(data, &caller, nil).Execute(p.root, data)
	if _, missing := caller.err.(*idempotent.MissingKeyError); missing || caller.err == nil && err == nil && vacuous(result) {
		return "", &idempotent.MissingKeyError{Part: "id", At: p.expr}
	}
	if invalid, ok := caller.err.(*idempotent.InvalidPayloadError); ok {
		located := *invalid
		located.Reason += ": " + p.expr
		return "", &located
	}
	if caller.err != nil {
		return "", caller.err
	}
	if err != nil {
		return "", &idempotent.InvalidPayloadError{Offset: -1, Reason: "the key expression does not apply to it: " + p.expr}
	}
	if s, ok := result.(string); ok && s[0] != '[' && s[0] != '{' && s[0] != '"' {
		return s, nil
	}
	return canonicalText(result)
}

// vacuous reports whether a result contains no value.
func vacuous(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		for _, e := range v {
			if !vacuous(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !vacuous(e) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// canonicalText returns the canonical JSON of a decoded value.
func canonicalText(v any) (string, error) {
	text, err := canonical.AppendValue(nil, v)
	return string(text), invalidPayload(err)
}
