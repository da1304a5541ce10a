package idempotent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/lambda-once/once/internal/canonical"
)

// work is a handler and its result without their types, so that the protocol is
// compiled once.
type work interface {
	run(ctx context.Context) error
	encode() ([]byte, error)
	decode(data []byte) error // replaces the result of run
	hasResult() bool
}

type typed[T any] struct {
	codec  Codec
	fn     func(context.Context) (T, error)
	result T
}

func (w *typed[T]) hasResult() bool { return true }

// noResult returns the error for a record without a result, which a different
// library completed. A type with only one value needs no result.
func noResult[T any]() error {
	if reflect.TypeFor[T]().Size() == 0 {
		return nil
	}
	return &unreadable{reason: "the record has no result; another library completed it without one, or it was completed by hand"}
}

func (w *typed[T]) run(ctx context.Context) (err error) {
	w.result, err = w.fn(ctx)
	return err
}

// wrapped saves Wrap a closure for every request.
type wrapped[Req, Resp any] struct {
	typed[Resp]
	handler func(context.Context, Req) (Resp, error)
	request Req
}

func (w *wrapped[Req, Resp]) run(ctx context.Context) (err error) {
	w.result, err = w.handler(ctx, w.request)
	return err
}

// encode returns a panic as an error. The work is done, and a record left in
// progress would repeat it.
func (w *typed[T]) encode() (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("idempotent: the codec panicked: %v", p)
		}
	}()
	data, err = w.codec.Encode(w.result)
	if data == nil && err == nil {
		data = []byte{} // nil would say that no result was stored
	}
	return data, err
}

// decode returns a panic as an error, because every retry would meet it.
func (w *typed[T]) decode(data []byte) (err error) {
	var fresh T
	w.result = fresh
	if data == nil {
		return noResult[T]()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("idempotent: the codec panicked: %v", p)
		}
	}()
	return w.codec.Decode(data, &w.result)
}

type wrappedEffect[Req any] struct {
	fn      func(context.Context, Req) error
	request Req
}

func (w *wrappedEffect[Req]) hasResult() bool               { return false }
func (w *wrappedEffect[Req]) run(ctx context.Context) error { return w.fn(ctx, w.request) }
func (w *wrappedEffect[Req]) encode() ([]byte, error)       { return []byte("null"), nil }
func (w *wrappedEffect[Req]) decode([]byte) error           { return nil }

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

// JSON is the default codec, on encoding/json. Functions in other languages
// that share the table can read the stored text.
//
// A replay returns the same JSON value as the first call, but not the same Go
// value. It lacks the parts that encoding/json does not write: unexported fields, fields
// with the tag `json:"-"`, and the dynamic types of interfaces.
//
// Within an any, a number decodes as a float64, or as a [json.Number] if a
// float64 would change its value: 9007199254740993 stays the same. Numbers in
// typed fields, and types with a method UnmarshalJSON, decode as
// usual.
type JSON struct{}

// Encode marshals result.
func (JSON) Encode(result any) ([]byte, error) { return json.Marshal(result) }

// Decode unmarshals data. Like [json.Unmarshal], it refuses data after the
// value.
func (JSON) Decode(data []byte, result any) error {
	return canonical.Unmarshal(data, result)
}
