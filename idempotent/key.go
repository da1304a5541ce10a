package idempotent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/internal/ids"
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
	// that it spells. A value of a different type is marshalled to JSON first, and
	// is as exact as its type: numbers in a map[string]any are float64s. A struct
	// without exported fields is an [InvalidPayloadError].
	Payload any

	// Issued is when the key was made, if that is known. It is no part of the key, and
	// Config.RefuseLate alone asks for it. Adapters set it from their source, to when this
	// message was sent: a key of the business that is sent again needs the time of the
	// first. A time in the future counts as now.
	Issued time.Time

	// Record is the record's id, verbatim, for keys made by a different library. It
	// excludes Scope and ID, and identifies one record in all operations. At
	// most 2,048 bytes of UTF-8, 1,024 in a table with a sort key.
	Record string
	// Fingerprint is stored and compared verbatim; it excludes Payload.
	Fingerprint string
}

const (
	maxKeyLength    = 1024
	maxRecordLength = 2048
	shownDigits     = 12 // of a hash: enough to find the record
)

// identity is a key as the store sees it.
type identity struct {
	id          string // of the record
	shown       string // the id, or digits of the hash in place of a Key.Record
	hash        string // of the key
	fingerprint string
	issued      time.Time
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
		if x.config.Resume {
			return identity{}, &InvalidKeyError{"Record", "cannot be used with Config.Resume: what was left behind is found by the operation in its id"}
		}
		hash := canonical.SHA256([]byte(key.Record))
		return identity{key.Record, hash[:shownDigits], hash, fp, key.Issued}, nil
	}
	id := ids.RecordID(x.operation, key.Scope, key.ID)
	return identity{id, id, id[len(x.operation)+1:], fp, key.Issued}, nil
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
	return ids.RecordID(operation, k.Scope, k.ID), nil
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
// would be replaced, and so merge two keys.
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
// otherwise a lowercase hex SHA-256: of a []byte as it is, and else of the
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
	if err != nil {
		return "", invalidPayload(err)
	}
	return digest, nil
}

// Field returns a key function that uses get to read Key.ID from the request.
// It returns a [*MissingKeyError] with the Part "id" if the ID is empty.
//
// The ID is used as it is. [keypath.Path] returns the same one for a string
// that does not start with [, { or ".
func Field[Req any](get func(Req) string) func(Req) (Key, error) {
	return func(req Req) (Key, error) {
		id := get(req)
		if id == "" {
			return Key{}, &MissingKeyError{Part: "id"}
		}
		return Key{ID: id}, nil
	}
}

// WholePayload returns a key function that makes the whole request the key:
// Key.ID is the lowercase hex SHA-256 of its canonical JSON. A request of type
// json.RawMessage or []byte is JSON text itself. The function returns a
// [*MissingKeyError] with the Part "id" for null, "", [] and {}, and an
// [*InvalidPayloadError] for a request without canonical JSON.
//
// Any difference between two deliveries makes two keys, and most events contain
// request ids and timestamps: prefer [keypath.Path] or [Field]. Key.Payload
// stays nil, because a different payload is a different key.
func WholePayload[Req any]() func(Req) (Key, error) {
	return func(req Req) (Key, error) {
		id, empty, err := canonical.Digest(req)
		if err != nil {
			return Key{}, invalidPayload(err)
		}
		if empty {
			return Key{}, &MissingKeyError{Part: "id"}
		}
		return Key{ID: id}, nil
	}
}

// WithPayload returns a key function that sets Key.Payload to the part of the
// request that sel returns. One key with two payloads is then refused. It
// replaces a payload that key has set.
func WithPayload[Req any](key func(Req) (Key, error), sel func(Req) any) func(Req) (Key, error) {
	return func(req Req) (Key, error) {
		k, err := key(req)
		if err != nil {
			return Key{}, err
		}
		k.Payload = sel(req)
		return k, nil
	}
}

// WithScope returns a key function that sets Key.Scope to the ID that scope
// finds in the request. It replaces a scope that key has set. If scope finds
// none, it returns a [*MissingKeyError] with the Part "scope": all such
// requests would share one.
func WithScope[Req any](key, scope func(Req) (Key, error)) func(Req) (Key, error) {
	return func(req Req) (Key, error) {
		k, err := key(req)
		if err != nil {
			return Key{}, err
		}
		s, err := scope(req)
		if errors.Is(err, ErrMissingKey) || err == nil && s.ID == "" {
			missing := &MissingKeyError{Part: "scope"}
			if found, ok := errors.AsType[*MissingKeyError](err); ok {
				missing.At = found.At
			}
			return Key{}, missing
		}
		if err != nil {
			return Key{}, err
		}
		k.Scope = s.ID
		return k, nil
	}
}
