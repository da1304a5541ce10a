package idempotent

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/lambda-once/once/internal/canonical"
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
	return canonical.Unmarshal(data, result)
}

// PayloadStore keeps results that are too large for a record, which then holds
// a reference. It is used by many calls at once.
//
// A handler's work is done when its result is put, so Put is tried again, with
// pauses, for up to two thirds of the time that is left to record the result,
// and 30 s or Config.Reserve, whichever is longer, unless its error is marked
// [Permanent]. A try has half of what is left of that. If it fails to the end, the record is
// completed without the result, and replays get a [*ResultUnavailableError].
// When Get fails, only the call that asked gets that error: nothing is run
// again, and the next call asks again.
//
// Put and Get return when their context ends: the lease is not extended while
// a result is put, so that a Put that hangs past it has the work repeated.
//
// Errors reach logs and callers, and must quote nothing of the data.
type PayloadStore interface {
	// Put stores data and gives the reference by which Get finds it: valid
	// UTF-8, 1 to 2,048 bytes, without secrets. Repeated with the same data
	// it stores the same thing again. It must not keep or modify data.
	Put(ctx context.Context, data []byte) (reference string, err error)
	// Get gives the data of a reference, or an error if it is not exactly
	// what was put. The data is the caller's own.
	Get(ctx context.Context, reference string) ([]byte, error)
}

// Sealer encrypts what records hold of the work: results, stored errors and
// steps. Package seal has one. It is used by many calls at once.
//
// Seal is tried again as the Put of a [PayloadStore] is, and what was said
// there of errors and contexts holds here too. A result is sealed before it is put
// anywhere.
type Sealer interface {
	// Seal gives the sealed form of data, which begins with
	// [SealedPrefix] and opens only for the same place. It must not keep or
	// modify data.
	Seal(ctx context.Context, p Place, data []byte) ([]byte, error)
	// Open gives back the data. It gets whatever is stored, which may be
	// forged, plain, or nil where a record was completed without a result,
	// and refuses what no Seal has made for the place. It must not modify
	// what is sealed.
	Open(ctx context.Context, p Place, sealed []byte) ([]byte, error)
}

// SealedPrefix begins all that is sealed, so that an Executor without a
// [Sealer] takes it for no result. No UTF-8, and so no JSON, begins with it.
const SealedPrefix = "\xffsealed:"

// Place is where in a record something is kept.
type Place struct {
	Record string // its id
	Slot   string // "result", "failure", or "step:" and the step's name
}

const (
	resultSlot  = "result"
	failureSlot = "failure"
)

const (
	defaultPayloadAbove = 256 << 10
	maxReference        = 2 << 10
)
