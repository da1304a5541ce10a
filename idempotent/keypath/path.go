package keypath

import (
	"fmt"
	"slices"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/jmespath"
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
	compiled, err := jmespath.Compile(jmespath.Exact, expr, true)
	if err != nil {
		panic(fmt.Sprintf("keypath: Path(%q): %v", expr, err))
	}
	selected := jmespath.Select(compiled)
	return func(req Req) (idempotent.Key, error) {
		id, err := find(compiled, selected, expr, req)
		return idempotent.Key{ID: id}, err
	}
}

// find returns the ID of a request, or "" and an error.
func find(compiled *jmespath.Expression, selected *jmespath.Selection, expr string, req any) (string, error) {
	text, err := canonical.AppendValue(make([]byte, 0, 512), req)
	if err != nil {
		return "", invalidPayload(err, "")
	}
	data, err := selected.Decode(jmespath.Exact, string(text))
	if err != nil {
		return "", invalidPayload(err, "")
	}
	result, err := compiled.Search(data)
	if err == jmespath.ErrNoContent || err == nil && vacuous(result) {
		return "", &idempotent.MissingKeyError{Part: "id", At: expr}
	}
	if err != nil {
		return "", invalidPayload(err, ": "+expr)
	}
	if s, ok := result.(string); ok && s[0] != '[' && s[0] != '{' && s[0] != '"' {
		return s, nil
	}
	text, err = jmespath.Canonical(result)
	return string(text), invalidPayload(err, "")
}

// invalidPayload returns an error of canonical JSON, or of the engine, as the type
// that users know.
func invalidPayload(err error, where string) error {
	if e, ok := err.(*canonical.Error); ok {
		return &idempotent.InvalidPayloadError{Offset: e.Offset, Reason: e.Reason + where, Err: e.Err}
	}
	return err
}

// vacuous reports whether a result contains no value.
func vacuous(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !vacuous(e) })
	case *jmespath.Object:
		for _, e := range v.Members {
			if !vacuous(e) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
