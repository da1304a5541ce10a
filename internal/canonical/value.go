package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// AppendValue appends the canonical form of v to dst. A json.RawMessage or
// []byte is JSON text; any other value is marshalled first.
func AppendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return Append(dst, v)
	case []byte:
		return Append(dst, v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return dst, marshalError(err)
	}
	if string(raw) == "{}" {
		if lost, _ := Lost(reflect.TypeOf(v)); lost != "" {
			return dst, &Error{Offset: -1, Reason: lost + " or select a part of it"}
		}
	}
	return canonicalize(dst, raw, true)
}

// Lost returns why JSON carries no value of type t, or "". It looks into pointers and
// slices, and not into the types of fields: a struct with one field that JSON writes is in
// use with others that it does not. A struct of no size loses nothing.
//
// silently reports that such a value is written all the same, without what it holds.
// Otherwise it does not marshal, which the caller sees from the error.
func Lost(t reflect.Type) (reason string, silently bool) {
	of := t
	for range 16 { // a type may be a slice of itself
		switch {
		case marshalsItself(t):
			return "", false
		case t.Kind() == reflect.Slice:
			t = reflect.PointerTo(t.Elem()) // its elements are addressable
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		}
	}
	if t.Kind() != reflect.Struct {
		return formless(t), false
	}
	if t.Size() > 0 && !hasJSONField(t, nil) {
		return "type " + of.String() + " has no field that encoding/json writes, so every value of it is {}; export its fields", true
	}
	for f := range t.Fields() {
		tag, reason := f.Tag.Get("json"), formless(f.Type)
		if reason != "" && f.IsExported() && tag != "-" && !strings.Contains(tag, "omitzero") {
			return "its field " + f.Name + ": " + reason, false // which is always written
		}
	}
	return "", false
}

// formless returns why no value of type t marshals, or "".
func formless(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128:
		if !marshalsItself(t) {
			return "type " + t.String() + " has no JSON form"
		}
	}
	return ""
}

func marshalsItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// hasJSONField looks into embedded structs too, whose fields are written as
// those of the outer one. within contains the types around t, which may embed
// pointers to themselves.
func hasJSONField(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return false
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && embedded.Kind() == reflect.Struct && (tag == "" || tag[0] == ','):
			if hasJSONField(embedded, append(within, t)) {
				return true
			}
		case f.IsExported():
			return true
		}
	}
	return false
}

// marshalError hides the text of errors that may quote the payload; that of an
// unsupported type cannot.
func marshalError(err error) error {
	reason := fmt.Sprintf("not marshalled as JSON (%T)", err)
	if t := new(json.UnsupportedTypeError); errors.As(err, &t) {
		reason = "type " + t.Type.String() + " has no JSON form"
	}
	return &Error{Offset: -1, Reason: reason, Err: err}
}

// buffers are reused for the canonical text of a digest.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Digest returns the [SHA256] of the canonical form of v, as AppendValue writes
// it, and reports whether v is null, "", [] or {}.
func Digest(v any) (digest string, empty bool, _ error) {
	buf := buffers.Get().(*[]byte)
	text, err := AppendValue((*buf)[:0], v)
	if err == nil {
		digest = SHA256(text)
		switch string(text) {
		case "null", `""`, "[]", "{}":
			empty = true
		}
	}
	*buf = text
	if cap(text) <= 1<<16 { // a rare large payload must not stay in memory
		buffers.Put(buf)
	}
	return digest, empty, err
}

// SHA256 returns the lowercase hex SHA-256 of text.
func SHA256(text []byte) string {
	sum := sha256.Sum256(text)
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}

// Equal reports whether a and b are the same bytes, or two spellings of one JSON
// value: a store that keeps values and not their text may spell them differently.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := Append(nil, a)
	if err != nil {
		return false
	}
	other, err := Append(nil, b)
	return err == nil && bytes.Equal(one, other)
}
