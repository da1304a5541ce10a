package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
)

// ChainDetail adds the [idempotent.ChainKey] of that name to the detail of an
// event that a handler puts on a bus. See [DetailWithChain].
func ChainDetail(ctx context.Context, name string, detail []byte) ([]byte, error) {
	return DetailWithChain(detail, idempotent.ChainKey(ctx, name))
}

// ErrDetail is the error of a detail that cannot carry a chain key.
var ErrDetail = errors.New("handlers: the detail cannot carry a chain key")

// DetailWithChain adds a chain key to the detail of an event, as its last
// member [ChainAttribute]. All else stays as it is, byte for byte. A detail
// that has this very member is given back as it is; one that has another, or
// is not a JSON object, is refused with [ErrDetail]. So is an empty key.
func DetailWithChain(detail []byte, key string) ([]byte, error) {
	if key == "" {
		return nil, fmt.Errorf("%w: the key is empty", ErrDetail)
	}
	had, members, err := detailChain(detail)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDetail, err)
	case had == key:
		return bytes.Clone(detail), nil
	case had != "":
		return nil, fmt.Errorf("%w: its member %s is another", ErrDetail, ChainAttribute)
	}
	member, err := json.Marshal(map[string]string{ChainAttribute: key})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDetail, err)
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
	if err == errNoObject {
		return "", nil
	}
	return key, err
}

var (
	errNoObject   = errors.New("it is not a JSON object")
	errChainShape = fmt.Errorf("its member %s is not a text, or is there twice", ChainAttribute)
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
