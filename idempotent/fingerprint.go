package idempotent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Fingerprint gives the fingerprint of a Key with this Payload, for those who
// compose a Key.Fingerprint of several parts: the lowercase hex SHA-256 of a
// []byte as it is, of anything else in canonical JSON, for which all but
// json.RawMessage is marshalled first. It is "" for a nil payload. Errors are
// of type [*InvalidPayloadError].
//
// An empty json.RawMessage is refused: taken for nil, it would switch the
// comparison of payloads off.
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
	return appendMarshalled(dst, raw)
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
