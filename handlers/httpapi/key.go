package httpapi

import (
	"fmt"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/lambda-once/once/idempotent"
)

// longestKey is the length in bytes of the longest key that the core takes.
const longestKey = 1024

// parseKey returns the key in the values of its header, as in
// draft-ietf-httpapi-idempotency-key-header-07 section 2.1. It is an Item of RFC 8941
// that is a String, as in the draft, or the form of most clients: the same text
// without quotes. Both spellings are one key. Parameters of the Item are
// ignored, as for any field that defines none.
func (o *Options) parseKey(values []string) (string, error) {
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
	} else if !bare(key) {
		return "", invalidKey("contains characters that a key without quotes cannot contain, or is given more than once")
	}
	return key, o.checkKey(key)
}

// checkKey refuses a text that no key may have, wherever it comes from.
func (o *Options) checkKey(key string) error {
	switch {
	case key == "":
		return invalidKey("is empty")
	case len(key) > o.MaxKeyBytes:
		return invalidKey(fmt.Sprintf("has %d bytes, more than %d", len(key), o.MaxKeyBytes))
	case o.ValidKey != nil && o.ValidKey(key) != nil:
		return invalidKey("does not have the required format")
	}
	return nil
}

// bare reports whether a key may be sent without quotes. It must not contain
// commas, with which gateways join repeated headers, or the first characters of parameters,
// strings and escapes: a server behind this one could read a different key.
func bare(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`,;"\`, r)
	})
}

func invalidKey(reason string) error {
	return &idempotent.InvalidKeyError{Part: "ID", Reason: reason}
}

// isFieldName reports whether name is a token of RFC 9110 section 5.6.2, as
// names of fields and methods are.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
