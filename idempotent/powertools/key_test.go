package powertools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
)

// The record is the one that a function in Python finds with
// IdempotencyConfig(event_key_jmespath="powertools_json(body).order",
// payload_validation_jmespath="amount").
func ExampleKey() {
	key := powertools.Key[json.RawMessage](powertools.Python, "pay.app.lambda_handler",
		"powertools_json(body).order", &powertools.Options{Validation: "amount"})
	k, err := key(json.RawMessage(`{"body": "{\"order\": \"o-1\"}", "amount": 12.50}`))
	fmt.Println(k.Record, k.Fingerprint, err)
	_, err = key(json.RawMessage(`{"body": "{}"}`))
	fmt.Println(err)
	// Output:
	// pay.app.lambda_handler#cbcbdb948de16bfe7e49a81f91500ab1 cf3e481a44141cabd4e9d46cfbb1f899 <nil>
	// idempotent: the request has no idempotency key: its id is missing, null or empty
}

// The digests that Powertools itself computed.
func TestKeysAreThoseOfPowertools(t *testing.T) {
	for _, test := range []struct{ event, python, typescript string }{
		{`"abc"`, "ebd9f4c7b06cb0aaf5d13d80e49d8b90", "69n0x7BssKr10T2A5J2LkA=="},
		{`{"b":1,"a":{"Z":1,"y":2,"a":null}}`, "3312d6089adcdade02790428bfdff711", "ZC6NwhDmpqrX0iqbvvkj1Q=="},
		{`{"10":1,"9":2,"a":3}`, "df0684d2c9669a43c9e68565f7f2f670", "7P8T2AZQWKIdjR3nI4md6A=="},
		{`"a/b\u007f\t"`, "31bc108d52b9f8c65929a0f38987c80e", "zs2LjzCR5O59bPBEd/lULA=="},
		// Lone surrogates, and a pair.
		{`"\ud83d \ude00 \ud83d\ude00"`, "c1fc298ef792e3e07f442614f26fc10e", "4DrqLHGmlqE3+JuuY134Hw=="},
		// Numbers that are one in a language, and two in the other.
		{`[1, 1.0, -0, -0.0, 1E21, 1e-7, 12345678901234567890123, 9007199254740993, 1e400]`, "f5c86c9147424d9d47374d86472f558f", "Q65uLZsQOHTpgqZOp/eD3g=="},
		// Indices of arrays, and what is dropped.
		{`{"b":1,"B":2,"a":{"__proto__":{"x":1},"4294967295":1,"4294967294":2}}`, "b681f798a97ea26954a2bf54fa2bcc51", "0gfTweH3Wusyd5Uwl0rTtQ=="},
		// Keys by UTF-16, and one twice.
		{`{"z":1,"\ud800":2,"é":3,"É":4,"😀":5,"\uffff":6,"z":7}`, "721445c452cc5d53b9ddb002e6142b52", "PdvZLIg4ZvJTletgoKAWXQ=="},
	} {
		for d, want := range map[powertools.Dialect]string{powertools.Python: test.python, powertools.TypeScript: test.typescript} {
			key := powertools.Key[json.RawMessage](d, "charge", "value", nil)
			got, err := key(json.RawMessage(`{"value": ` + test.event + `}`))
			check.Nil(t, err, d, test.event)
			check.Equal(t, got.Record, "charge#"+want, d, test.event)
		}
	}
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := powertools.New(powertools.Python, "", "[", &powertools.Options{HashMissing: true, Validation: "["})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"prefix", "path", "HashMissing", "Validation"} {
		check.Contains(t, err.Error(), want, err)
	}
}

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
