package idempotent

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Fingerprint gives the fingerprint of a Key with this Payload, for those who
// compose a Key.Fingerprint of several parts: the lowercase hex SHA-256 of a
// []byte as it is, of anything else in canonical JSON, for which all but
// json.RawMessage is marshalled first. It is "" for a nil payload. Errors are
// of type [*InvalidPayloadError].
//
// An empty json.RawMessage is refused: taken for nil, it would switch the
// comparison of payloads off. So is a struct whose fields encoding/json all
// leaves out: any two values of its type would be equal.
func Fingerprint(payload any) (string, error) {
	switch p := payload.(type) {
	case nil:
		return "", nil
	case []byte:
		return hexDigest(p), nil
	}
	digest, _, err := canonicalDigest(payload)
	return digest, err
}

// buffers hold canonical texts on their way into a digest.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// canonicalDigest also reports whether v is null, "", [] or {}.
func canonicalDigest(v any) (digest string, empty bool, _ error) {
	buf := buffers.Get().(*[]byte)
	text, err := appendPayload((*buf)[:0], v)
	if err == nil {
		digest = hexDigest(text)
		switch string(text) {
		case "null", `""`, "[]", "{}":
			empty = true
		}
	}
	*buf = text
	if cap(text) <= 1<<16 { // the memory of a rare large payload is not kept
		buffers.Put(buf)
	}
	return digest, empty, err
}

// appendPayload appends the canonical JSON of v, which is JSON text if it is a
// json.RawMessage or []byte, and any other value to be marshalled.
func appendPayload(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return appendCanonical(dst, v)
	case []byte:
		return appendCanonical(dst, v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return dst, marshalError(err)
	}
	if string(raw) == "{}" && holdsNothing(v) {
		return dst, &InvalidPayloadError{Offset: -1, Reason: fmt.Sprintf(
			"type %T has no field that encoding/json writes, so every value of it is {}; export its fields or select a part of it", v)}
	}
	return appendMarshalled(dst, raw)
}

// holdsNothing reports whether v is a struct with fields none of which JSON
// writes. A struct{} loses nothing.
func holdsNothing(v any) bool {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer && !marshalsItself(t) {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t.NumField() > 0 && !marshalsItself(t) && !hasJSONField(t, nil)
}

func marshalsItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// hasJSONField looks into embedded structs too, whose fields are written as
// those of the outer one. within holds the types around t, which may embed
// pointers to themselves.
func hasJSONField(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return false
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && embedded.Kind() == reflect.Struct && (tag == "" || tag[0] == ','):
			if hasJSONField(embedded, append(within, t)) {
				return true
			}
		case f.IsExported():
			return true
		}
	}
	return false
}

// marshalError hides the text of errors that may quote the payload; that of an
// unsupported type cannot.
func marshalError(err error) error {
	reason := fmt.Sprintf("not marshalled as JSON (%T)", err)
	if t := new(json.UnsupportedTypeError); errors.As(err, &t) {
		reason = "type " + t.Type.String() + " has no JSON form"
	}
	return &InvalidPayloadError{Offset: -1, Reason: reason, Err: err}
}

func hexDigest(text []byte) string {
	sum := sha256.Sum256(text)
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}
