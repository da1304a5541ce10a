package powertools_test

import (
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent/powertools"
)

// The digests that Powertools itself computed.
func TestKeysAreThoseOfPowertools(t *testing.T) {
	for _, test := range []struct{ event, python, typescript string }{
		{`"abc"`, "ebd9f4c7b06cb0aaf5d13d80e49d8b90", "69n0x7BssKr10T2A5J2LkA=="},
		{`{"b":1,"a":{"Z":1,"y":2,"a":null}}`, "3312d6089adcdade02790428bfdff711", "ZC6NwhDmpqrX0iqbvvkj1Q=="},
		{`{"10":1,"9":2,"a":3}`, "df0684d2c9669a43c9e68565f7f2f670", "7P8T2AZQWKIdjR3nI4md6A=="},
		{`"a/b\u007f\t"`, "31bc108d52b9f8c65929a0f38987c80e", "zs2LjzCR5O59bPBEd/lULA=="},
	} {
		for d, want := range map[powertools.Dialect]string{powertools.Python: test.python, powertools.TypeScript: test.typescript} {
			key := powertools.Key[json.RawMessage](d, "charge", "value", nil)
			got, err := key(json.RawMessage(`{"value": ` + test.event + `}`))
			if err != nil || got.Record != "charge#"+want {
				t.Errorf("%v, %s: %q, %v, want %s", d, test.event, got.Record, err, want)
			}
		}
	}
}
