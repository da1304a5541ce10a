package handlers

import (
	"fmt"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/lambda-once/once/idempotent"
)

// httpKey reads the key from the values of its header. It is an Item of RFC
// 8941 that is a String, as draft-ietf-httpapi-idempotency-key-header-07
// section 2.1 has it, or what most clients send: the same text without quotes.
// Both spellings are one key. Parameters of the Item mean nothing, as for any
// field that defines none.
func (o *HTTPOptions) httpKey(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", &idempotent.MissingKeyError{Part: "id"}
	case 1:
	default:
		return "", invalidKey("is given more than once")
	}
	key := strings.Trim(values[0], " \t")
	if strings.HasPrefix(key, `"`) {
		item, err := httpsfv.UnmarshalItem([]string{key})
		text, ok := item.Value.(string)
		if err != nil || !ok {
			return "", invalidKey("starts with a quote and is not one string of RFC 8941")
		}
		key = text
	} else if strings.ContainsFunc(key, notBare) {
		return "", invalidKey("has characters that a key without quotes cannot have, or is given more than once")
	}
	return key, o.checkKey(key)
}

// checkKey refuses what no key may be, wherever it comes from.
func (o *HTTPOptions) checkKey(key string) error {
	switch {
	case key == "":
		return invalidKey("is empty")
	case len(key) > o.MaxKeyBytes:
		return invalidKey(fmt.Sprintf("has %d bytes, more than %d", len(key), o.MaxKeyBytes))
	case o.ValidKey != nil && o.ValidKey(key) != nil:
		return invalidKey("does not have the format that is asked for here")
	}
	return nil
}

// notBare refuses commas, by which gateways join repeated headers, and what
// begins parameters, strings and escapes: a key that one server takes for more
// than text, another would read differently.
func notBare(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`,;"\`, r) }

func invalidKey(reason string) error {
	return &idempotent.InvalidKeyError{Part: "ID", Reason: reason}
}
