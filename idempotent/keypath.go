package idempotent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"
)

// Path takes Key.ID from a request with a JMESPath expression over its JSON.
// A request of type json.RawMessage or []byte is JSON text itself; any other
// is marshalled.
//
// Numbers are as exact as the request's type keeps them: json.RawMessage,
// []byte, json.Number and integers are. A map[string]any that Lambda has
// decoded holds float64s, in which 9007199254740993 and ...992 are one.
//
// The ID is a string result as it is, a number as an exact decimal, a boolean
// as true or false, a list or an object as canonical JSON. So the number 1 and
// the string "1" are one ID, as are true and "true". A string that starts with
// [, { or " is quoted as in JSON: no string becomes the ID of a list.
//
// A result that is null, "", an empty list or object, or one that holds only
// such values, is a [*MissingKeyError] with the Part "id". A list that holds
// one value and one null is an ID: select only what every request has.
//
// Beside the functions of JMESPath there are powertools_json(s),
// powertools_base64(s) and powertools_base64_gzip(s), as in Powertools for AWS
// Lambda, for a string that holds JSON, base64, or base64 of at most 10 MiB
// compressed with gzip. Where their argument is null the key is missing.
//
// Numbers reach the expression as exact decimals, on which no JMESPath
// library computes. Refused are therefore arithmetic, the comparisons
// <, <=, > and >=, number literals that are not a count of a function (as in
// pad_left), and abs, avg, ceil, find_first, find_last, floor, max, max_by,
// min, min_by, sort_by, sum and to_number. == compares numbers exactly. So
// that equal requests have equal IDs, the values of an object come in the
// order of its keys, in values, keys and items and for *.
//
// Path panics on an expression that is invalid or refused, as
// regexp.MustCompile does: no request could ever make it valid. The returned
// function returns an [*InvalidPayloadError] for a request without canonical
// JSON, and for one to which a function of the expression does not apply.
func Path[Req any](expr string) func(Req) (Key, error) {
	path, err := compilePath(expr)
	if err != nil {
		panic(fmt.Sprintf("idempotent: Path(%q): %v", expr, err))
	}
	return func(req Req) (Key, error) {
		id, err := path.id(req)
		if err != nil {
			return Key{}, err
		}
		return Key{ID: id}, nil
	}
}

type keyPath struct{ root parsing.ASTNode }

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
	return keyPath{root}, checkExpression(&root)
}

func (p keyPath) id(req any) (string, error) {
	text, err := appendPayload(make([]byte, 0, 512), req)
	if err != nil {
		return "", err
	}
	data, err := decodeCanonical(text)
	if err != nil {
		return "", err
	}
	caller := pathCaller{}
	result, err := interpreter.NewInterpreter(data, &caller, nil).Execute(p.root, data)
	if caller.err != nil {
		return "", caller.err
	}
	if err != nil {
		return "", &InvalidPayloadError{Offset: -1, Reason: "the key expression does not apply to it"}
	}
	if vacuous(result) {
		return "", &MissingKeyError{Part: "id"}
	}
	if s, ok := result.(string); ok && s[0] != '[' && s[0] != '{' && s[0] != '"' {
		return s, nil
	}
	return canonicalText(result)
}

// vacuous reports whether a result names nothing.
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

// decodeCanonical decodes canonical JSON. Numbers stay tokens, and equal ones
// are equal tokens.
func decodeCanonical(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &InvalidPayloadError{Offset: -1, Reason: "not decoded", Err: err}
	}
	return v, nil
}

// canonicalText is the canonical JSON of what decodeCanonical gives.
func canonicalText(v any) (string, error) {
	text, err := appendPayload(nil, v)
	return string(text), err
}
