package powertools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
)

func TestNewRefusesWhatIsNotTheSameEverywhere(t *testing.T) {
	for _, test := range []struct {
		dialect            powertools.Dialect
		prefix, path, want string
		options            powertools.Options
	}{
		{0, "p", "a", "no dialect", powertools.Options{}},
		{powertools.Python, "", "a", "prefix is empty", powertools.Options{}},
		{powertools.Python, "\xff", "a", "not UTF-8", powertools.Options{}},
		{powertools.TypeScript, " p", "a", "white space", powertools.Options{}},
		{powertools.Python, "p", "a", "is for TypeScript", powertools.Options{HashMissing: true}},
		{powertools.Python, "p", "a[", "syntax error at byte 2, where the expression ends", powertools.Options{}},
		{powertools.Python, "p", "a ]", `syntax error at byte 2, at "]"`, powertools.Options{}},
		{powertools.Python, "p", "\xff", "not UTF-8", powertools.Options{}},
		{powertools.Python, "p", "[99999999999999999999]", "syntax error at byte 1", powertools.Options{}},
		{powertools.Python, "p", "to_string(a, b)", "to_string does not take 2 arguments", powertools.Options{}},
		{powertools.Python, "p", "a[::0]", "the step of a slice is 0", powertools.Options{}},
		{powertools.Python, "p", "my_function(a)", "the function my_function is not supported: change the expression in all functions that share the table", powertools.Options{}},
		{powertools.Python, "p", "a", "powertools_json is unknown in payload_validation_jmespath", powertools.Options{Validation: "powertools_json(a)"}},
		{powertools.Python, "p", "a", `Options.Validation "a["`, powertools.Options{Validation: "a["}},
		{powertools.TypeScript, "p", "a[?b > `1`]", "the operator > is not supported", powertools.Options{}},
		{powertools.TypeScript, "p", "a.constructor", "constructor is refused", powertools.Options{}},
		{powertools.TypeScript, "p", `{"__proto__": a}`, "__proto__ is refused", powertools.Options{}},
	} {
		_, err := powertools.New(test.dialect, test.prefix, test.path, &test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, %q, %q: %v, want %s", test.dialect, test.prefix, test.path, err, test.want)
		}
		func() {
			defer func() {
				if e, ok := recover().(error); !ok || e.Error() != err.Error() {
					t.Errorf("Key panics with %v, want %v", e, err)
				}
			}()
			powertools.Key[json.RawMessage](test.dialect, test.prefix, test.path, &test.options)
		}()
	}
}

func TestKeysRefuseEventsWithoutACertainKey(t *testing.T) {
	const secret = "4111"
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for _, test := range []struct {
		dialect           powertools.Dialect
		path, event, want string
	}{
		{powertools.Python, "", "{", "byte 1: unexpected end"},
		{powertools.Python, "", `{"4111": tru}`, "byte 9: expected a value"},
		{powertools.Python, "", "[1] 4111", "byte 4: data after the end"},
		{powertools.Python, "", "\"\xff\"", "not UTF-8"},
		{powertools.Python, "", "\"\xed\xa0\x80\"", "not UTF-8"},
		{powertools.Python, "", "\"a\nb\"", "byte 2: control character"},
		{powertools.Python, "", deep, "nested too deeply"},
		{powertools.Python, "", strings.Repeat("9", 4301), "an integer that Python does not decode"},
		{powertools.TypeScript, "powertools_json(a)", `{"a": "` + deep + `"}`, "powertools_json: byte 10000: nested too deeply"},
		{powertools.TypeScript, "powertools_base64(a)", `{"a": "/w=="}`, "powertools_base64: not UTF-8"},
		{powertools.Python, "powertools_base64(a)", `{"a": "4111_4111-=="}`, "not base64 of the standard alphabet"},
		{powertools.Python, "powertools_base64(a)", `{"a": 4111}`, "the arguments of powertools_base64 have the wrong type"},
		{powertools.Python, "powertools_json(a)", `{"a": "{\"4111\": 4111"}`, "powertools_json: byte 13: unexpected end"},
		{powertools.TypeScript, "powertools_base64_gzip(a)", `{"a": "` + zipped(strings.Repeat("4", 10<<20+1)) + `"}`, "more than 10 MiB"},
		{powertools.TypeScript, "", `{"\ua7da": 4111, "b": 1}`, "depends on the version of Node"},
		{powertools.TypeScript, "a", `{"a": [{"aΣʕ": 4111, "b": 1}]}`, "depends on the version of Node"},
		{powertools.Python, "join(a, [b])", `{"a": 4111, "b": "4111"}`, "the arguments of join have the wrong type"},
	} {
		keyer, err := powertools.New(test.dialect, "p", test.path, nil)
		check.Must(t, err)
		_, err = keyer.Key([]byte(test.event))
		if !errors.Is(err, idempotent.ErrInvalidPayload) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v, %s of %.100s: %v, want %s", test.dialect, test.path, test.event, err, test.want)
		}
	}
}

// What depends on the version of Node in an object without an order does not.
func TestOneMemberHasNoOrder(t *testing.T) {
	for _, event := range []string{`{"\ua7da": 1}`, `["\ua7da", {"aΣʕ": 1}]`} {
		if _, err := powertools.Key[string](powertools.TypeScript, "p", "", nil)(event); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
}
