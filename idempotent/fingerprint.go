package idempotent

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/lambda-once/once/internal/canonical"
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
	text, err := canonical.AppendValue((*buf)[:0], v)
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
	return digest, empty, invalidPayload(err)
}

func hexDigest(text []byte) string {
	sum := sha256.Sum256(text)
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}
