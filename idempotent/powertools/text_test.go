package powertools_test

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
)

// Java and .NET hash the selected text itself. The digests are those of md5sum
// and sha256sum.
func TestJavaAndDotNetHashTheSelectedText(t *testing.T) {
	for _, test := range []struct {
		dialect     powertools.Dialect
		path, event string
		want        string
	}{
		{powertools.Java, "id", `{"id": "abc"}`, "900150983cd24fb0d6963f7d28e17f72"},
		{powertools.DotNet, "id", `{"id": "abc"}`, "900150983cd24fb0d6963f7d28e17f72"},
		{powertools.Java, "powertools_json(body).ids[0]", `{"body": "{\"ids\": [\"abc\"]}"}`, "900150983cd24fb0d6963f7d28e17f72"},
		{powertools.Java, "", `"abc"`, "900150983cd24fb0d6963f7d28e17f72"},
		{powertools.Java, "id", `{"id": 12345678901234567890}`, "fd85e62d9beb45428771ec688418b271"},
		{powertools.Java, "id", `{"id": -0}`, "cfcd208495d565ef66e7dff9f98764da"},
		{powertools.Java, "id", `{"id": true}`, "b326b5062b2f0e69046810717534cb09"},
		{powertools.Java, "id", `{"id": ""}`, "d41d8cd98f00b204e9800998ecf8427e"},
		{powertools.DotNet, "id", `{"id": "é😀"}`, "62b3afe3b01f6f80152b567d9b216cde"},
	} {
		got, err := powertools.Key[string](test.dialect, "pay.charge", test.path, nil)(test.event)
		if err != nil || got.Record != "pay.charge#"+test.want {
			t.Errorf("%v, %s of %s: %q, %v, want %s", test.dialect, test.path, test.event, got.Record, err, test.want)
		}
	}
	for _, test := range []struct {
		dialect powertools.Dialect
		event   string
	}{{powertools.Java, `{}`}, {powertools.DotNet, `{"id": null}`}, {powertools.DotNet, `{"id": ""}`}, {powertools.Java, `{"id": [null]}`}, {powertools.Java, `{"id": {"a": null}}`}} {
		_, err := powertools.Key[string](test.dialect, "p", "id", nil)(test.event)
		if _, ok := err.(*idempotent.MissingKeyError); !ok {
			t.Errorf("%v, %s: %v", test.dialect, test.event, err)
		}
	}
}

func TestDotNetHashesAMissingKeyAsEmptyText(t *testing.T) {
	key := powertools.Key[string](powertools.DotNet, "p", "id", &powertools.Options{HashMissing: true})
	for _, event := range []string{`{}`, `{"id": null}`, `{"id": ""}`} {
		if got, err := key(event); err != nil || got.Record != "p#d41d8cd98f00b204e9800998ecf8427e" {
			t.Errorf("%s: %q, %v", event, got.Record, err)
		}
	}
}

// BigInteger and %032x: what is longer than MD5 loses its leading zeros.
func TestJavaDropsLeadingZeros(t *testing.T) {
	key := powertools.Key[string](powertools.Java, "p", "id", &powertools.Options{Hash: sha256.New})
	short := 0
	for i := range 100 {
		id := fmt.Sprint(i)
		sum := sha256.Sum256([]byte(id))
		got, err := key(`{"id": "` + id + `"}`)
		want := "p#" + fmt.Sprintf("%032x", new(big.Int).SetBytes(sum[:]))
		if err != nil || got.Record != want {
			t.Errorf("%s: %q, %v, want %s", id, got.Record, err, want)
		}
		if len(want) < 2+64 {
			short++
		}
	}
	if short == 0 {
		t.Error("no hash begins with a zero")
	}
}

func TestDialectsHaveNames(t *testing.T) {
	for _, name := range []string{"typescript", "python", "java", "dotnet"} {
		d, err := powertools.ParseDialect(name)
		if err != nil || d.String() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if d, err := powertools.ParseDialect("Python"); err == nil || !strings.Contains(err.Error(), "use typescript, python, java or dotnet") {
		t.Errorf("%v, %v", d, err)
	}
	if s := powertools.Dialect(9).String(); s != "Dialect(9)" {
		t.Error(s)
	}
}
