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
	if string(raw) == "{}" && losesAllFields(reflect.TypeOf(v)) {
		return dst, &Error{Offset: -1, Reason: lossOf(reflect.TypeOf(v)) + " or select a part of it"}
	}
	return canonicalize(dst, raw, true)
}

// Lost returns why JSON carries no value of type t, or "". It looks into pointers and
// slices, and not into the types of fields: a struct with one field that JSON writes is in
// use with others that it does not.
func Lost(t reflect.Type) string {
	of, addressable := t, false
	for range 16 { // a type may be a slice of itself
		kind := t.Kind()
		switch {
		case marshalsItself(t) || addressable && marshalsItself(reflect.PointerTo(t)):
			return ""
		case kind == reflect.Pointer || kind == reflect.Slice:
			t, addressable = t.Elem(), true
			continue
		case kind == reflect.Chan || kind == reflect.Func || kind == reflect.Complex64 || kind == reflect.Complex128:
			return noForm(t)
		case losesAllFields(t):
			return lossOf(of)
		case kind == reflect.Struct:
			return lostField(t)
		}
		break
	}
	return ""
}

// lostField returns why a struct never marshals: a field that always is written cannot be.
func lostField(t reflect.Type) string {
	for f := range t.Fields() {
		switch f.Type.Kind() {
		case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128:
			tag := f.Tag.Get("json")
			if f.IsExported() && tag != "-" && !strings.Contains(tag, "omitzero") && !marshalsItself(f.Type) {
				return "its field " + f.Name + ": " + noForm(f.Type)
			}
		}
	}
	return ""
}

func noForm(t reflect.Type) string { return "type " + t.String() + " has no JSON form" }

func lossOf(t reflect.Type) string {
	return "type " + t.String() + " has no field that encoding/json writes, so every value of it is {}; export its fields"
}

// losesAllFields reports whether t is a struct with fields none of which JSON
// writes. A struct{} loses nothing.
func losesAllFields(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer && !marshalsItself(t) {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t.NumField() > 0 && !marshalsItself(t) && !hasJSONField(t, nil)
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
		reason = noForm(t.Type)
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
