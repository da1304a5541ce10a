package idempotent

import "encoding/json"

// Codec turns the result of a handler into the bytes that are stored, and
// back. It is used by many calls at once.
//
// A result that does not encode is not an error of the call: the work is done,
// so the record is completed without it and replays get a
// [*ResultUnavailableError].
type Codec interface {
	Encode(result any) ([]byte, error)
	// Decode decodes into a pointer to the handler's result type.
	Decode(data []byte, result any) error
}

// JSON is the default codec, on encoding/json. Other functions that share the
// table can read what it stores.
type JSON struct{}

// Encode marshals.
func (JSON) Encode(result any) ([]byte, error) { return json.Marshal(result) }

// Decode unmarshals.
func (JSON) Decode(data []byte, result any) error { return json.Unmarshal(data, result) }
