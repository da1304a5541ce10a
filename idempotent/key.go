package idempotent

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/internal/canonical"
)

// A Key identifies one request. There is no default such as "the whole event":
// events contain request ids and timestamps that differ between retries.
type Key struct {
	// Scope is the tenant or user that the ID belongs to. Two scopes never
	// share a record. All requests with an empty scope share one: if each has a
	// tenant, make sure that none is empty, or use [WithScope]. At most 1,024
	// bytes of UTF-8.
	Scope string
	// ID is the idempotency key, at most 1,024 bytes of UTF-8 without
	// control characters.
	ID string
	// Payload is compared with that of the key's first use, unless it is nil. A
	// []byte is compared by its bytes, and a json.RawMessage by the JSON value
	// that it spells. Any other value is marshalled to JSON first, and is as
	// exact as its type: numbers in a map[string]any are float64s. A struct
	// without exported fields is an [InvalidPayloadError].
	Payload any

	// Record is the record's id, verbatim, for keys made by another library. It
	// excludes Scope and ID, and identifies one record in all operations. At
	// most 2,048 bytes of UTF-8, 1,024 in a table with a sort key.
	Record string
	// Fingerprint is stored and compared verbatim; it excludes Payload.
	Fingerprint string
}

const (
	maxKeyLength    = 1024
	maxRecordLength = 2048
)

// identity is a key as the store sees it.
type identity struct {
	id          string // of the record
	hash        string // the part of the id that may be shown
	fingerprint string
}

func (x *Executor) identify(key Key) (identity, error) {
	if err := key.validate(); err != nil {
		return identity{}, err
	}
	fp := key.Fingerprint
	if fp == "" {
		var err error
		if fp, err = Fingerprint(key.Payload); err != nil {
			return identity{}, err
		}
	}
	if key.Record != "" {
		return identity{id: key.Record, hash: canonical.SHA256([]byte(key.Record)), fingerprint: fp}, nil
	}
	id := recordID(x.operation, key.Scope, key.ID)
	return identity{id: id, hash: id[len(x.operation)+1:], fingerprint: fp}, nil
}

// RecordID returns the id of the key's record under an operation. Tools use it
// to find the record in a table.
func (k Key) RecordID(operation string) (string, error) {
	if err := cmp.Or(checkOperation(operation), k.validate()); err != nil {
		return "", err
	}
	if k.Record != "" {
		return k.Record, nil
	}
	return recordID(operation, k.Scope, k.ID), nil
}

// recordID returns operation#hash. The hash excludes personal data from table
// keys, and spreads partition keys whatever the shape of the IDs.
func recordID(operation, scope, id string) string {
	var space [256 + 2*sha256.Size]byte
	sum := sha256.Sum256(appendPreimage(space[:0], scope, id))
	b := append(append(space[:0], operation...), '#')
	return string(hex.AppendEncode(b, sum[:]))
}

// appendPreimage prefixes each part with its length. Otherwise the scope "a"
// with the ID "bc" would have the record of "ab" with "c".
func appendPreimage(b []byte, parts ...string) []byte {
	for _, part := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

func (k *Key) validate() error {
	switch {
	case k.Record != "" && (k.Scope != "" || k.ID != ""):
		return &InvalidKeyError{"Record", "excludes Scope and ID"}
	case k.Fingerprint != "" && k.Payload != nil:
		return &InvalidKeyError{"Fingerprint", "excludes Payload"}
	case len(k.Fingerprint) > maxKeyLength || !utf8.ValidString(k.Fingerprint):
		return &InvalidKeyError{"Fingerprint", fmt.Sprintf("is not UTF-8 of at most %d bytes", maxKeyLength)}
	case k.Record != "":
		return checkText("Record", k.Record, maxRecordLength, true)
	case k.ID == "":
		return &MissingKeyError{Part: "id"}
	}
	if err := checkText("Scope", k.Scope, maxKeyLength, true); err != nil {
		return err
	}
	return checkText("ID", k.ID, maxKeyLength, false)
}

// checkText refuses text that may change on the way to the store. Invalid UTF-8
// would be replaced, and so merged with other keys.
func checkText(part, s string, limit int, control bool) error {
	switch {
	case len(s) > limit:
		return &InvalidKeyError{part, fmt.Sprintf("has %d bytes, more than %d", len(s), limit)}
	case !utf8.ValidString(s):
		return &InvalidKeyError{part, "is not valid UTF-8"}
	case !control && strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return &InvalidKeyError{part, "contains a control character"}
	}
	return nil
}

// Fingerprint returns the fingerprint of a Key with this Payload. Use it to
// compose a Key.Fingerprint of several parts. It is "" for a nil payload, and
// otherwise a lowercase hex SHA-256: of a []byte as it is, and of any other
// value in canonical JSON, for which all but json.RawMessage is marshalled
// first. Errors are of type [*InvalidPayloadError].
//
// Fingerprint refuses an empty json.RawMessage, which must not switch the
// comparison off. It also refuses a struct of which encoding/json omits all
// fields: any two of its values would be equal.
func Fingerprint(payload any) (string, error) {
	switch p := payload.(type) {
	case nil:
		return "", nil
	case []byte:
		return canonical.SHA256(p), nil
	}
	digest, _, err := canonical.Digest(payload)
	return digest, invalidPayload(err)
}
