package powertools_test

import (
	"encoding/json"
	"fmt"
	"testing"

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
