package idempotent

import (
	"errors"

	"github.com/lambda-once/once/internal/canonical"
)

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
// stays nil, because another payload is another key.
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
// request that sel returns, so that one key with two payloads is refused. It
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
			return Key{}, &MissingKeyError{Part: "scope"}
		}
		if err != nil {
			return Key{}, err
		}
		k.Scope = s.ID
		return k, nil
	}
}
