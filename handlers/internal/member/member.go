// Package member reads and adds one text member of a JSON object, and leaves
// every other byte of it alone.
package member

import (
	"bytes"
	"encoding/json"
)

// A Problem is why a member cannot be read or added. It quotes nothing
// of the text.
type Problem uint8

const (
	OK        Problem = iota
	NotObject         // the text is not a JSON object
	NotText           // the member is not a text, is empty, or occurs twice
	Different         // the member exists with a different value
)

// Find returns the member of that name, or "" if there is none, and the number
// of members. It does not decode into a struct, whose fields match names in any
// case.
func Find(text []byte, name string) (value string, members int, _ Problem) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') || !json.Valid(text) {
		return "", 0, NotObject
	}
	for ; decoder.More(); members++ {
		member, err := decoder.Token()
		if err != nil {
			return "", 0, NotObject
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return "", 0, NotObject
		}
		if member != name {
			continue
		}
		if value != "" || json.Unmarshal(raw, &value) != nil || value == "" {
			return "", 0, NotText
		}
	}
	return value, members, OK
}

// Add returns the text with the member as its last. A text that has this very
// member is returned unchanged.
func Add(text []byte, name, value string) ([]byte, Problem) {
	found, members, problem := Find(text, name)
	switch {
	case problem != OK:
		return nil, problem
	case found == value:
		return bytes.Clone(text), OK
	case found != "":
		return nil, Different
	}
	encoded, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err) // texts always marshal
	}
	end := bytes.LastIndexByte(text, '}')
	added := bytes.Clone(text[:end])
	if members > 0 {
		added = append(added, ',')
	}
	added = append(added, encoded[1:len(encoded)-1]...)
	return append(added, text[end:]...), OK
}
