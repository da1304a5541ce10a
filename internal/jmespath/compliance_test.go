package jmespath

import (
	"testing"

	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

const compliance = `{"foo": -1, "zero": 0, "numbers": [-1, 3, 4, 5], "array": [-1, 3, 4, 5, "a", "100"], "strings": ["a", "b", "c"], "decimals": [1.01, 1.2, -1.5],
	"str": "Str", "false": false, "empty_list": [], "empty_hash": {}, "objects": {"foo": "bar", "bar": "baz"}, "string": "subject string", "texts": ["b", "a", "a"],
	"people": [{"age": 20, "age_str": "20", "bool": true, "name": "a", "extra": "foo"}, {"age": 40, "age_str": "40", "bool": false, "name": "b", "extra": "bar"},
		{"age": 30, "age_str": "30", "bool": true, "name": "c"}, {"age": 50, "age_str": "50", "bool": false, "name": "d"}, {"age": 10, "age_str": "10", "bool": true, "name": 3}],
	"same": [{"age": 10, "order": "1"}, {"age": 10, "order": "2"}, {"age": 10, "order": "3"}]}`

// The vectors of jmespath.test and of JMESPath Community for the functions that
// compute, compare or return a position. "error" is one of the type or the value.
func TestFunctionsOfNumbersComplyWithTheSpecification(t *testing.T) {
	for expr, want := range map[string]string{
		"abs(foo)": "1", "abs(str)": "error", "abs(array[1])": "3", "abs(`false`)": "error", "abs(`-24`)": "24", "abs(`24`)": "24",
		"avg(numbers)": "2.75", "avg(array)": "error", "avg('abc')": "error", "avg(foo)": "error", "avg(@)": "error", "avg(strings)": "error", "avg(empty_list)": "null",
		"ceil(`1.2`)": "2", "ceil(decimals[0])": "2", "ceil(decimals[1])": "2", "ceil(decimals[2])": "-1", "ceil('string')": "error",
		"floor(`1.2`)": "1", "floor('string')": "error", "floor(decimals[0])": "1", "floor(decimals[2])": "-2", "floor(foo)": "-1", "floor(str)": "error",
		"max(numbers)": "5", "max(decimals)": "1.2", "max(strings)": `"c"`, "max(abc)": "error", "max(array)": "error", "max(empty_list)": "null",
		"min(numbers)": "-1", "min(decimals)": "-1.5", "min(strings)": `"a"`, "min(abc)": "error", "min(array)": "error", "min(empty_list)": "null",
		"sum(numbers)": "11", "sum(decimals)": "0.71", "sum(array)": "error", "sum(array[].to_number(@))": "111", "sum(`[]`)": "0",
		"to_number('1.0')": "1", "to_number('1e21')": "1e+21", "to_number('1.1')": "1.1", "to_number('4')": "4", "to_number('notanumber')": "null",
		"to_number(`false`)": "null", "to_number(`null`)": "null", "to_number(`[0]`)": "null", "to_number(`{\"foo\": 0}`)": "null", "array[].to_number(@)": "[-1,3,4,5,100]",
		"sort_by(people, &age)[].name": `[3,"a","c","b","d"]`, "sort_by(people, &age_str)[].name": `[3,"a","c","b","d"]`, "sort_by(people, &to_number(age_str))[].name": `[3,"a","c","b","d"]`,
		"sort_by(people, &age)[].extra": `["foo","bar"]`, "sort_by(people, &extra)": "error", "sort_by(people, &bool)": "error", "sort_by(people, &name)": "error",
		"sort_by(`[]`, &age)": "[]", "sort_by(same, &age)[].order": `["1","2","3"]`, "sort_by(items(objects), &[0])": `[["bar","baz"],["foo","bar"]]`,
		"max_by(people, &age).name": `"d"`, "max_by(people, &age_str).name": `"d"`, "max_by(people, &to_number(age_str)).name": `"d"`, "max_by(people, &bool)": "error",
		"max_by(people, &extra)": "error", "max_by(`[]`, &age)": "null", "max_by(same, &age).order": `"1"`,
		"min_by(people, &age).name": "3", "min_by(people, &age_str).name": "3", "min_by(people, &to_number(age_str)).name": "3", "min_by(people, &bool)": "error",
		"min_by(people, &extra)": "error", "min_by(`[]`, &age)": "null", "min_by(same, &age).order": `"1"`,
		"find_first(string, 'string')": "8", "find_first(string, 'string', `0`)": "8", "find_first(string, 'string', `0`, `14`)": "8", "find_first(string, 'string', `-6`)": "8",
		"find_first(string, 'string', `-99`, `100`)": "8", "find_first(string, 'string', `0`, `13`)": "null", "find_first(string, 'string', `8`)": "8",
		"find_first(string, 'string', `8`, `11`)": "null", "find_first(string, 'string', `9`)": "null", "find_first(string, 's')": "0", "find_first(string, 's', `1`)": "8",
		"find_first(string, '')": "null", "find_first('', '')": "null", "find_first(@, 'string', `1`, `2`)": "error", "find_first(string, 'string', '1')": "error",
		"find_first(string, 'string', `1.3`, `2.4`)": "error", "find_first('ab', 'a', `2`, `1`)": "null", "find_first('é😀é', 'é', `1`)": "2",
		"find_last(string, 'string')": "8", "find_last(string, 'string', `8`)": "8", "find_last(string, 'string', `8`, `9`)": "null", "find_last(string, 'string', `9`)": "null",
		"find_last(string, 's', `1`)": "8", "find_last(string, 's', `-6`)": "8", "find_last(string, 's', `0`, `7`)": "0", "find_last(string, '')": "null", "find_last('', '')": "null",
	} {
		check.Equal(t, exactly(t, expr, compliance), want, expr)
	}
}

// exactly returns the canonical JSON of a result in Exact. The expression may
// contain number literals, which Compile refuses.
func exactly(t *testing.T, expr, event string) string {
	t.Helper()
	e := Expression{parse(Exact, expr), Exact}
	data, err := Decode(Exact, event)
	check.Must(t, err, event)
	v, err := e.Search(data)
	if err != nil {
		_, ok := err.(*canonical.Error)
		check.True(t, ok, expr, err)
		return "error"
	}
	text, err := Canonical(v)
	check.Must(t, err, expr)
	return string(text)
}
