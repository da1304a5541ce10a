package idempotent

import (
	"bytes"
	"context"
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

// A PayloadStore stores results that are too large for a record, which then
// contains a reference. It is used by many calls at once.
//
// The handler's work is done when Put is called. So a failed Put is repeated,
// with pauses, unless its error is wrapped with [Permanent]. All tries together
// have up to two thirds of the time left to record the result, at most 30 s or
// Config.Reserve, whichever is longer. Each try has half of what is left of
// that. If all tries fail, the record is completed without the result, and
// replays return a [*ResultUnavailableError].
//
// If Get fails, that call returns the error. Nothing is run again, and the next
// call tries Get again.
//
// Put and Get must return when their context ends. The lease is not extended
// during Put, so a Put that outlasts it lets the work be repeated. Errors
// appear in logs and must not quote the data.
type PayloadStore interface {
	// Put stores data and returns a reference for Get: valid UTF-8, 1 to 2,048
	// bytes, without secrets. Repeated with the same data, Put stores the same
	// thing again. It must not keep or modify data.
	Put(ctx context.Context, data []byte) (reference string, err error)
	// Get returns the data of a reference, or an error if it is not exactly
	// what was put. The caller may modify the data.
	Get(ctx context.Context, reference string) ([]byte, error)
}

// A Sealer encrypts results, stored errors and steps before they are stored.
// Package seal contains one. It is used by many calls at once.
//
// Seal is repeated like the Put of a [PayloadStore], with the same rules for
// errors and contexts. A result is sealed before it is put into a PayloadStore.
type Sealer interface {
	// Seal returns the sealed form of data, which begins with [SealedPrefix]
	// and opens only for the same place. It must not keep or modify data.
	Seal(ctx context.Context, p Place, data []byte) ([]byte, error)
	// Open returns the data of a sealed form, and refuses what no Seal has made
	// for the place. What is stored may be forged, plain, or nil if a record
	// was completed without a result. Open must not modify sealed.
	Open(ctx context.Context, p Place, sealed []byte) ([]byte, error)
}

// SealedPrefix begins every sealed form, so that an Executor without a [Sealer]
// does not take it for a result. No UTF-8, and so no JSON, begins with it.
const SealedPrefix = "\xffsealed:"

// A Place is a place in a record that contains a sealed form.
type Place struct {
	Record string // its id
	Slot   string // "result", "failure", or "step:" and the step's name
}

const (
	resultSlot  = "result"
	failureSlot = "failure"

	defaultPayloadAbove = 256 << 10
	maxReference        = 2 << 10
)
