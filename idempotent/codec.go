package idempotent

import (
	"bytes"
	"encoding/json"
)

// Codec turns the result of a handler into the bytes that are stored, and
// back. It is used by many calls at once.
//
// A result that does not encode is not an error of the call: the work is done,
// so the record is completed without it and replays get a
// [*ResultUnavailableError].
type Codec interface {
	Encode(result any) ([]byte, error)
	// Decode decodes into a pointer to the handler's result type. The data
	// is its own.
	Decode(data []byte, result any) error
}

// copying keeps what is stored apart from the results that callers may change,
// for codecs whose bytes are the result's.
type copying struct{ Codec }

func (c copying) Encode(result any) ([]byte, error) {
	data, err := c.Codec.Encode(result)
	return bytes.Clone(data), err
}

func (c copying) Decode(data []byte, result any) error {
	return c.Codec.Decode(bytes.Clone(data), result)
}

// JSON is the default codec, on encoding/json. Other functions that share the
// table can read what it stores.
type JSON struct{}

// Encode marshals.
func (JSON) Encode(result any) ([]byte, error) { return json.Marshal(result) }

// Decode unmarshals.
func (JSON) Decode(data []byte, result any) error { return json.Unmarshal(data, result) }
