package docs_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

// The code of docs/powertools.md.

// recordOfTypeScript returns the key of the record that Powertools for
// TypeScript has for a string, under a key prefix.
func recordOfTypeScript(prefix, id string) (idempotent.Key, error) {
	sum, err := digest(id)
	return idempotent.Key{Record: prefix + "#" + base64.StdEncoding.EncodeToString(sum[:])}, err
}

// recordOfPython does so for Powertools for Python, and ASCII.
func recordOfPython(prefix, id string) (idempotent.Key, error) {
	sum, err := digest(id)
	return idempotent.Key{Record: prefix + "#" + hex.EncodeToString(sum[:])}, err
}

func digest(id string) ([md5.Size]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(id)
	return md5.Sum(bytes.TrimSpace(text.Bytes())), err
}

func sharedWithTypeScript() (dynamo.Options, idempotent.Config) {
	return dynamo.Options{Data: dynamo.Native},
		idempotent.Config{ReleasePermanent: true}
}

func sharedWithPython() (dynamo.Options, idempotent.Config) {
	return dynamo.Options{Data: dynamo.Text, CompressAbove: -1},
		idempotent.Config{ReleasePermanent: true}
}

// The digests are those that the libraries themselves make of these values.
func TestRecordsOfPowertools(t *testing.T) {
	for id, want := range map[string][2]string{
		"abc":         {"69n0x7BssKr10T2A5J2LkA==", "ebd9f4c7b06cb0aaf5d13d80e49d8b90"},
		"a/b\u007f\t": {"zs2LjzCR5O59bPBEd/lULA==", ""},
	} {
		if got, err := recordOfTypeScript("pay", id); err != nil || got.Record != "pay#"+want[0] {
			t.Errorf("TypeScript, %q: %q, %v", id, got.Record, err)
		}
		if got, err := recordOfPython("pay", id); want[1] != "" && (err != nil || got.Record != "pay#"+want[1]) {
			t.Errorf("Python, %q: %q, %v", id, got.Record, err)
		}
	}
}

var (
	_ = sharedWithTypeScript
	_ = sharedWithPython
)
