package postgres

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// encodeSteps returns steps as they are stored: for each of them the length of its
// name, the name, the length of its result, and the result. Steps are added by
// appending. Of two with one name, the later one counts.
//
// This is not jsonb, which returns other bytes than were stored, and not a table
// of its own, which would need a second statement at every takeover and
// completion.
func encodeSteps(steps map[string][]byte) []byte {
	encoded := []byte{}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		encoded = binary.AppendUvarint(encoded, uint64(len(name)))
		encoded = append(encoded, name...)
		encoded = binary.AppendUvarint(encoded, uint64(len(steps[name])))
		encoded = append(encoded, steps[name]...)
	}
	return encoded
}

var errSteps = errors.New("the column of the steps was not written by a store")

// decodeSteps returns nil for an absent set of steps. The results share the memory
// of encoded.
func decodeSteps(encoded []byte) (map[string][]byte, error) {
	if encoded == nil {
		return nil, nil
	}
	steps := make(map[string][]byte)
	for len(encoded) > 0 {
		name, rest, ok := cutField(encoded)
		if !ok {
			return nil, errSteps
		}
		data, rest, ok := cutField(rest)
		if !ok {
			return nil, errSteps
		}
		steps[string(name)] = data
		encoded = rest
	}
	return steps, nil
}

// cutField returns a field with its length in front, and the rest.
func cutField(b []byte) (field, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return b[n:end:end], b[end:], true
}
