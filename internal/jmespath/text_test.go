package jmespath

import (
	"testing"
	"unicode/utf8"

	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

// Decoding canonical JSON and writing it again changes nothing.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{
		`{"b":1,"a":{"Z":1.50,"y":-0,"":null}}`, `["\ud83d\ude00","\ue000","\ufffd","\u2028\u007f<&>\/","é"]`, `{"\ue000":1,"😀":2}`,
		`[1e400,12345678901234567890123456789.5,0.000001,1e-7]`, `[[],{},"",true,false,null]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := canonical.Append(nil, []byte(text))
		if err != nil || !utf8.ValidString(text) {
			return
		}
		v, err := Decode(Exact, string(want))
		check.Must(t, err, text)
		got, err := Canonical(v)
		check.Must(t, err, text)
		check.Equal(t, string(got), string(want))
	})
}
