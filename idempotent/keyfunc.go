package idempotent

import (
	"errors"

	"github.com/lambda-once/once/internal/canonical"
)

// Field takes Key.ID from a request with a function. An empty ID is a
// [*MissingKeyError] with the Part "id".
//
// The ID is used as it is. [keypath.Path] gives the same one for a string that does
// not start with [, { or ".
func Field[Req any](get func(Req) string) func(Req) (Key, error) {
	return func(req Req) (Key, error) {
		id := get(req)
		if id == "" {
			return Key{}, &MissingKeyError{Part: "id"}
		}
		return Key{ID: id}, nil
	}
}

// WholePayload takes the whole request for the key: Key.ID is the lowercase
// hex SHA-256 of its canonical JSON. A request of type json.RawMessage or
// []byte is JSON text itself. One that is null, "", [] or {} is a
// [*MissingKeyError] with the Part "id", and one without canonical JSON an
// [*InvalidPayloadError].
//
// Whatever differs between two deliveries, as request ids and timestamps do in
// most events, makes two keys: prefer [keypath.Path] or [Field]. Key.Payload stays
// nil, since another payload is another key.
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

// WithPayload sets Key.Payload to what sel selects from the request: one key
// with two payloads is refused. It replaces a payload that key has set.
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

// WithScope sets Key.Scope to the ID that scope takes from the request, and
// replaces a scope that key has set. A request for which scope finds none
// is a [*MissingKeyError] with the Part "scope": an empty scope would be
// shared by all of them.
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
