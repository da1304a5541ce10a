// Package httpkey reads and checks idempotency keys of HTTP requests, as in
// draft-ietf-httpapi-idempotency-key-header-07 section 2.1.
package httpkey

import (
	"fmt"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/lambda-once/once/idempotent"
)

// Longest is the length in bytes of the longest key that the core takes.
const Longest = 1024

// Rules are the requirements of an API on its keys.
type Rules struct {
	MaxBytes int
	Valid    func(key string) error // nil: every key is valid
}

// Parse returns the key in the values of its header. It is an Item of RFC 8941
// that is a String, as in the draft, or the form of most clients: the same text
// without quotes. Both spellings are one key. Parameters of the Item are
// ignored, as for any field that defines none.
func (r Rules) Parse(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", &idempotent.MissingKeyError{Part: "id"}
	case 1:
	default:
		return "", Invalid("is given more than once")
	}
	key := strings.Trim(values[0], " \t")
	if strings.HasPrefix(key, `"`) {
		item, err := httpsfv.UnmarshalItem([]string{key})
		text, ok := item.Value.(string)
		if err != nil || !ok {
			return "", Invalid("starts with a quote and is not one string of RFC 8941")
		}
		key = text
	} else if !Bare(key) {
		return "", Invalid("contains characters that a key without quotes cannot contain, or is given more than once")
	}
	return key, r.Check(key)
}

// Check refuses a text that no key may have, wherever it comes from.
func (r Rules) Check(key string) error {
	switch {
	case key == "":
		return Invalid("is empty")
	case len(key) > r.MaxBytes:
		return Invalid(fmt.Sprintf("has %d bytes, more than %d", len(key), r.MaxBytes))
	case r.Valid != nil && r.Valid(key) != nil:
		return Invalid("does not have the required format")
	}
	return nil
}

// Bare reports whether a key may be sent without quotes. It must not contain
// commas, with which gateways join repeated headers, or the first characters of parameters,
// strings and escapes: a server behind this one could read a different key.
func Bare(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`,;"\`, r)
	})
}

// Invalid returns the error of a key that is not valid.
func Invalid(reason string) error {
	return &idempotent.InvalidKeyError{Part: "ID", Reason: reason}
}

// IsFieldName reports whether name is a token of RFC 9110 section 5.6.2, as
// names of fields and methods are.
func IsFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
