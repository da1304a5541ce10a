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
//
// A replay returns the same JSON value as the first answer, and not the same Go
// value. What encoding/json does not write is lost: unexported fields, fields
// with the tag `json:"-"`, and the type of what stands in an interface. Within an
// `any`, a number decodes as a float64 as usual, and as a [json.Number] where a
// float64 would change its value: 9007199254740993 stays what it is. Numbers in
// fields of any other type are not touched, nor are types that have a method
// UnmarshalJSON.
type JSON struct{}

// Encode marshals.
func (JSON) Encode(result any) ([]byte, error) { return json.Marshal(result) }

// Decode unmarshals. Like [json.Unmarshal] it refuses data after the value.
func (JSON) Decode(data []byte, result any) error {
	if floatsHold(data) {
		return json.Unmarshal(data, result)
	}
	return decodeNumbers(data, result)
}
