package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/lambda-once/once/idempotent"
)

// ChainDetail adds the [idempotent.ChainKey] of that name to the detail of an
// event that a handler puts on a bus. See [DetailWithChain].
func ChainDetail(ctx context.Context, name string, detail []byte) ([]byte, error) {
	return DetailWithChain(detail, idempotent.ChainKey(ctx, name))
}

// ErrDetail marks errors of type [*DetailError].
var ErrDetail = errors.New("handlers: the detail cannot carry a chain key")

// DetailError says that the detail of an event cannot carry a chain key, and
// why. It quotes nothing of the detail.
type DetailError struct{ reason string }

func (e *DetailError) Error() string { return ErrDetail.Error() + ": " + e.reason }

// Is reports whether target is ErrDetail.
func (e *DetailError) Is(target error) bool { return target == ErrDetail }

// DetailWithChain adds a chain key to the detail of an event, as its last
// member [ChainAttribute]. All else stays as it is, byte for byte. A detail
// that has this very member is given back as it is; one that has another, or
// is not a JSON object, is refused with a [*DetailError]. So is an empty key.
func DetailWithChain(detail []byte, key string) ([]byte, error) {
	if key == "" {
		return nil, &DetailError{"the key is empty"}
	}
	had, members, err := detailChain(detail)
	switch {
	case err != nil:
		return nil, &DetailError{err.Error()}
	case had == key:
		return bytes.Clone(detail), nil
	case had != "":
		return nil, &DetailError{"its member " + ChainAttribute + " is another"}
	}
	member, err := json.Marshal(map[string]string{ChainAttribute: key})
	if err != nil {
		return nil, &DetailError{err.Error()}
	}
	end := bytes.LastIndexByte(detail, '}')
	added := bytes.Clone(detail[:end])
	if members > 0 {
		added = append(added, ',')
	}
	added = append(added, member[1:len(member)-1]...)
	return append(added, detail[end:]...), nil
}

// eventChain reads the key from the detail of an event that has come. What is
// no object, as the input of a schedule may be, has none.
func eventChain(detail []byte) (string, error) {
	key, _, err := detailChain(detail)
	if err == error(errNoObject) {
		return "", nil
	}
	return key, err
}

var (
	errNoObject   = &ShapeError{"it is not a JSON object"}
	errChainShape = &ShapeError{"its member " + ChainAttribute + " is not a text, or is there twice"}
)

// detailChain reads the key from a detail, "" if there is none. It does not
// decode into a struct, whose members match in any case.
func detailChain(detail []byte) (key string, members int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(detail))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') || !json.Valid(detail) {
		return "", 0, errNoObject
	}
	for ; decoder.More(); members++ {
		name, err := decoder.Token()
		if err != nil {
			return "", 0, errNoObject
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return "", 0, errNoObject
		}
		if name != ChainAttribute {
			continue
		}
		if key != "" || json.Unmarshal(value, &key) != nil || key == "" {
			return "", 0, errChainShape
		}
	}
	return key, members, nil
}
