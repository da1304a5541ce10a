package keypath

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/interpreter"

	"github.com/lambda-once/once/idempotent"
)

const (
	positions = "returns or takes a position"
	computes  = "computes a number"
	compares  = "compares numbers"
)

var refusedFunctions = map[string]string{
	"abs": computes, "avg": computes, "ceil": computes, "floor": computes, "sum": computes, "to_number": computes,
	"max": compares, "max_by": compares, "min": compares, "min_by": compares, "sort_by": compares,
	"find_first": positions, "find_last": positions,
}

// projectValues is the function behind *. No expression can spell its name.
const projectValues = "*"

// pathFunctions are what an expression may call.
var pathFunctions = func() map[string]functions.FunctionEntry {
	table := map[string]functions.FunctionEntry{}
	for _, f := range functions.GetDefaultFunctions() {
		if _, refused := refusedFunctions[f.Name]; !refused {
			table[f.Name] = f
		}
	}
	for name, handler := range map[string]functions.JpFunction{
		"contains":  containsValue,   // the library's panics on two objects
		"items":     itemsOf,         // the library's, and those of the
		"keys":      keysOf,          // next two, have the random order of
		"values":    valuesOf,        // a Go map
		"to_string": canonicalString, // the library's escapes HTML
		"type":      typeWithNumbers, // the library's knows only float64
		"length":    exactLength,     // the library's returns a float64
	} {
		f := table[name]
		f.Handler = handler
		table[name] = f
	}
	for name, handler := range map[string]functions.JpFunction{
		"powertools_json":        decodeJSON,
		"powertools_base64":      decodeBase64,
		"powertools_base64_gzip": decodeBase64Gzip,
		projectValues:            valuesOrNull,
	} {
		anything := []functions.ArgSpec{{Types: []functions.JpType{functions.JpAny}}}
		table[name] = functions.FunctionEntry{Name: name, Arguments: anything, Handler: handler}
	}
	return table
}()

// libraryCaller is safe for concurrent use.
var libraryCaller = interpreter.NewFunctionCaller(slices.Collect(maps.Values(pathFunctions))...)

// pathCaller records the first error of a function in one evaluation: the
// library turns errors to the left of [], [?] and * into null. A null in a list
// would be one ID for all requests that cannot be decoded.
type pathCaller struct{ err error }

func (c *pathCaller) CallFunction(name string, args []any) (any, error) {
	result, err := libraryCaller.CallFunction(name, args)
	if err == nil {
		return result, nil
	}
	if !errors.Is(err, idempotent.ErrInvalidPayload) && !errors.Is(err, idempotent.ErrMissingKey) {
		// The text of the library's errors quotes the arguments.
		err = &idempotent.InvalidPayloadError{Offset: -1, Reason: "the arguments of " + name + " in the key expression have the wrong type or value"}
	}
	if c.err == nil {
		c.err = err
	}
	return nil, err
}

func containsValue(args []any) (any, error) {
	list, ok := args[0].([]any)
	if !ok {
		part, ok := args[1].(string)
		return ok && strings.Contains(args[0].(string), part), nil
	}
	return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, args[1]) }), nil
}

func sortedKeys(object any) []string { return slices.Sorted(maps.Keys(object.(map[string]any))) }

func keysOf(args []any) (any, error) {
	list := []any{}
	for _, k := range sortedKeys(args[0]) {
		list = append(list, k)
	}
	return list, nil
}

func valuesOf(args []any) (any, error) {
	list := []any{}
	for _, k := range sortedKeys(args[0]) {
		list = append(list, args[0].(map[string]any)[k])
	}
	return list, nil
}

func itemsOf(args []any) (any, error) {
	list := []any{}
	for _, k := range sortedKeys(args[0]) {
		list = append(list, []any{k, args[0].(map[string]any)[k]})
	}
	return list, nil
}

func valuesOrNull(args []any) (any, error) {
	if _, ok := args[0].(map[string]any); !ok {
		return nil, nil
	}
	return valuesOf(args)
}

func canonicalString(args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	return canonicalText(args[0])
}

func exactLength(args []any) (any, error) {
	n := 0
	switch v := args[0].(type) {
	case string:
		n = utf8.RuneCountInString(v)
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	}
	return json.Number(strconv.Itoa(n)), nil
}

func typeWithNumbers(args []any) (any, error) {
	switch args[0].(type) {
	case nil:
		return "null", nil
	case bool:
		return "boolean", nil
	case string:
		return "string", nil
	case []any:
		return "array", nil
	case map[string]any:
		return "object", nil
	default:
		return "number", nil
	}
}
