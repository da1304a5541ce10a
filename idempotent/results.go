package idempotent

import (
	"bytes"
	"encoding/json"

	"github.com/lambda-once/once/internal/canonical"
)

// A Codec encodes the result of a handler for the store, and decodes it. It is
// used by many calls at once.
//
// A result that does not encode is not an error of the call: the work is done.
// The record is completed without it, and replays return a
// [*ResultUnavailableError].
type Codec interface {
	Encode(result any) ([]byte, error)
	// Decode decodes into a pointer to the handler's result type. It may keep
	// and modify data.
	Decode(data []byte, result any) error
}

// copying copies the bytes of a codec, which may be those of a result that
// callers modify.
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
// A replay returns the same JSON value as the first call, but not the same Go
// value. What encoding/json does not write is lost: unexported fields, fields
// with the tag `json:"-"`, and the dynamic types of interfaces.
//
// Within an any, a number decodes as a float64, or as a [json.Number] if a
// float64 would change its value: 9007199254740993 stays the same. Numbers in
// fields of other types, and types with a method UnmarshalJSON, decode as
// usual.
type JSON struct{}

// Encode marshals result.
func (JSON) Encode(result any) ([]byte, error) { return json.Marshal(result) }

// Decode unmarshals data. Like [json.Unmarshal], it refuses data after the
// value.
func (JSON) Decode(data []byte, result any) error {
	return canonical.Unmarshal(data, result)
}

const (
	resultSlot  = "result"
	failureSlot = "failure"

	defaultPayloadAbove = 256 << 10
	maxReference        = 2 << 10
)
