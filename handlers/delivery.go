package handlers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// Delivery is one record of an event: the source's own record, and its decoded
// body.
//
// The body is JSON, decoded into T with encoding/json. If T is string or
// []byte, the body is the text itself; if T is json.RawMessage, it is the JSON
// text. A body of null would leave the zero value, so it is refused unless T is
// a pointer. A T that implements json.Unmarshaler decodes itself, as [FromSNS],
// [FromEventBridge] and [FromS3] do for an event inside a message.
//
// Make keys and payloads of the Body. Much of the Source differs between two
// deliveries of one record. In a keypath.Path the two are source and body,
// as in "body.orderId".
type Delivery[E, T any] struct {
	Source E `json:"source"`
	Body   T `json:"body"`
	// Chain is the [idempotent.ChainKey] that the sender set, or "". The keys
	// that the handler derives continue it in any case.
	Chain string `json:"chain,omitempty"`

	text []byte // the innermost body, as it arrived
}

// BodyJSON returns the body as it arrived, or the JSON of T if T is string or []byte.
func (d Delivery[E, T]) BodyJSON() ([]byte, error) {
	if d.text == nil || isText[T]() {
		return json.Marshal(d.Body)
	}
	return d.text, nil
}

// ErrDecode matches errors of type [*DecodeError].
var ErrDecode = errors.New("handlers: body does not decode")

// DecodeError reports that the body of a record is not of the type of the handler.
// The handler did not run, and no retry can succeed. The text of a DecodeError
// never quotes the body; that of Err may.
type DecodeError struct {
	Type string // that the body should have
	Err  error
}

func (e *DecodeError) Error() string {
	text := "handlers: the body is not " + e.Type
	if inner, ok := errors.AsType[*DecodeError](e.Err); ok {
		text += ": inside it, " + strings.TrimPrefix(inner.Error(), "handlers: ")
	} else if shape, ok := errors.AsType[*ShapeError](e.Err); ok {
		text += ": " + shape.Error()
	} else if syntax, ok := errors.AsType[*json.SyntaxError](e.Err); ok {
		text += fmt.Sprintf(": invalid JSON at byte %d", syntax.Offset)
	} else if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](e.Err); ok {
		text += fmt.Sprintf(": the JSON value that ends at byte %d is of another type", mismatch.Offset)
	}
	return text
}

// SafeText returns the whole text.
func (e *DecodeError) SafeText() string { return e.Error() }

// Refusal returns [idempotent.RefusalUnreadable].
func (e *DecodeError) Refusal() idempotent.Refusal { return idempotent.RefusalUnreadable }

// Is reports whether target is ErrDecode.
func (e *DecodeError) Is(target error) bool { return target == ErrDecode }

// Unwrap returns the decoder's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// ShapeError reports that a text is JSON, but not of the expected shape. It
// quotes nothing of the text. It is the cause of a [*DecodeError], or the error
// of UnmarshalJSON of a type of this package.
type ShapeError struct{ Reason string }

func (e *ShapeError) Error() string { return e.Reason }

// SafeText returns the whole text.
func (e *ShapeError) SafeText() string { return e.Error() }

// readRecord decodes the body of a record. outer is the part of the
// record itself: its id, by which it is reported, and its chain key. The record's key is
// the innermost id.
func readRecord[T, E any](source E, text []byte, outer message) record[Delivery[E, T]] {
	body, inner, err := decodeBody[T](text)
	outer.text, outer.zero = text, zeroType(body)
	m := inner.within(outer)
	return record[Delivery[E, T]]{
		id: outer.id, delivery: Delivery[E, T]{source, body, m.chain, m.text},
		key: idempotent.Key{ID: m.id}, chain: m.chain, text: m.text, zero: m.zero, skip: m.skip, issued: m.issued, err: err,
	}
}

// readBase64 is readRecord for a body in base64.
func readBase64[T, E any](source E, data string, outer message) record[Delivery[E, T]] {
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return record[Delivery[E, T]]{
			id: outer.id, delivery: Delivery[E, T]{Source: source, Chain: outer.chain},
			chain: outer.chain, err: &DecodeError{Type: "base64", Err: err},
		}
	}
	return readRecord[T](source, text, outer)
}

var errNull = &ShapeError{"it is null"}

func decodeBody[T any](text []byte) (body T, inner message, err error) {
	switch into := any(&body).(type) {
	case *string:
		*into = string(text)
		return body, inner, nil
	case *[]byte:
		*into = bytes.Clone(text) // the handler may change it, but not the source
		return body, inner, nil
	}
	var none T
	t := reflect.TypeFor[T]()
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) && (t.Kind() != reflect.Pointer || t.Implements(reflect.TypeFor[envelope]())) {
		return none, inner, &DecodeError{Type: t.String(), Err: errNull}
	}
	if err := refuseEnvelope(t, text); err != nil {
		return none, inner, err
	}
	// T's own decoder may panic, which says nothing about the body.
	err = guarded(func() error {
		if err := json.Unmarshal(text, &body); err != nil {
			return &DecodeError{Type: t.String(), Err: err}
		}
		inner = messageIn(&body)
		return nil
	})
	if err != nil {
		return none, inner, err
	}
	return body, inner, nil
}

// isText reports whether T is the text of a body itself.
func isText[T any]() bool {
	switch any(*new(T)).(type) {
	case string, []byte:
		return true
	}
	return false
}
