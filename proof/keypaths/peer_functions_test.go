package keypaths

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
)

// refused are the functions that the first engine refused, because the library
// computes with float64s.
var refused = []string{
	"abs", "avg", "ceil", "find_first", "find_last", "floor", "max", "max_by", "min", "min_by", "sort_by", "sum", "to_number",
}

// projectValues is the function behind *. No expression can spell its name.
const projectValues = "*"

var peerFunctions = func() map[string]functions.FunctionEntry {
	table := map[string]functions.FunctionEntry{}
	for _, f := range functions.GetDefaultFunctions() {
		if !slices.Contains(refused, f.Name) {
			table[f.Name] = f
		}
	}
	for name, handler := range map[string]functions.JpFunction{
		"contains": containsValue, "items": itemsOf, "keys": keysOf, "values": valuesOf,
		"to_string": canonicalString, "type": typeWithNumbers, "length": exactLength,
	} {
		f := table[name]
		f.Handler = handler
		table[name] = f
	}
	for name, handler := range map[string]functions.JpFunction{
		"powertools_json": decodeJSON, "powertools_base64": decodeBase64, "powertools_base64_gzip": decodeBase64Gzip,
		projectValues: valuesOrNull,
	} {
		anything := []functions.ArgSpec{{Types: []functions.JpType{functions.JpAny}}}
		table[name] = functions.FunctionEntry{Name: name, Arguments: anything, Handler: handler}
	}
	return table
}()

var libraryCaller = interpreter.NewFunctionCaller(slices.Collect(maps.Values(peerFunctions))...)

// peerCaller records the first error of a function in one evaluation: the library
// turns errors to the left of [], [?] and * into null.
type peerCaller struct{ err error }

func (c *peerCaller) CallFunction(name string, args []any) (any, error) {
	result, err := libraryCaller.CallFunction(name, args)
	if err == nil {
		return result, nil
	}
	if !errors.Is(err, errMissing) {
		err = errInvalid
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

func decodeJSON(args []any) (any, error) {
	s, err := embedded(args[0])
	if err != nil {
		return nil, err
	}
	return decodeCanonical([]byte(s))
}

func decodeBase64(args []any) (any, error) {
	b, err := fromBase64(args[0])
	if err == nil && !utf8.Valid(b) {
		err = errInvalid
	}
	return string(b), err
}

func decodeBase64Gzip(args []any) (any, error) {
	const most = 10 << 20
	b, err := fromBase64(args[0])
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, errInvalid
	}
	b, err = io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || len(b) > most || !utf8.Valid(b) {
		return nil, errInvalid
	}
	return string(b), nil
}

func embedded(arg any) (string, error) {
	switch s := arg.(type) {
	case nil:
		return "", errMissing
	case string:
		return s, nil
	default:
		return "", errInvalid
	}
}

func fromBase64(arg any) ([]byte, error) {
	s, err := embedded(arg)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(s)
}
