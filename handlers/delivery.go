package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Delivery is one record of an event: the source's own, and its decoded body.
//
// The body is JSON, decoded into T with encoding/json. Where T is string or
// []byte it is the text as it came, and where it is json.RawMessage the JSON
// text. A body of null is refused, as it would leave the zero value, unless T
// is a pointer. A T that implements json.Unmarshaler decodes itself: [FromSNS],
// [FromEventBridge] and [FromS3] do so for what is wrapped in another message.
//
// Make keys and payloads of the Body. Much of the Source differs between two
// deliveries of one record. To an idempotent.Path the two are source and body,
// as in "body.orderId".
type Delivery[E, T any] struct {
	Source E `json:"source"`
	Body   T `json:"body"`
	// Chain is the [idempotent.ChainKey] that the sender gave the message, ""
	// if none. The keys that the handler derives continue it in any case.
	Chain string `json:"chain,omitempty"`
}

// ErrDecode marks errors of type [*DecodeError].
var ErrDecode = errors.New("handlers: body does not decode")

// DecodeError says that the body of a record is not what the handler takes.
// Nothing was run, and no retry can help. Its text never quotes the body; that
// of Err may.
type DecodeError struct {
	Type string // what the body should have been
	Err  error
}

func (e *DecodeError) Error() string {
	text := "handlers: the body is not " + e.Type
	var inner *DecodeError
	var shape *ShapeError
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(e.Err, &inner):
		text += ", as what it holds: " + strings.TrimPrefix(inner.Error(), "handlers: ")
	case errors.As(e.Err, &shape):
		text += ": " + shape.Error()
	case errors.As(e.Err, &syntax):
		text += fmt.Sprintf(": it is not JSON from byte %d on", syntax.Offset)
	case errors.As(e.Err, &mismatch):
		text += fmt.Sprintf(": the JSON value that ends at byte %d is of another type", mismatch.Offset)
	}
	return text
}

// Is reports whether target is ErrDecode.
func (e *DecodeError) Is(target error) bool { return target == ErrDecode }

// Unwrap gives the decoder's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// ShapeError says that a text is JSON, and not of the shape that it should
// have. It quotes nothing of the text. It is the cause of a [*DecodeError], or
// what UnmarshalJSON of a type of this package returns.
type ShapeError struct{ reason string }

func (e *ShapeError) Error() string { return e.reason }

var errNull = &ShapeError{"null is no value of it"}

func decodeBody[T any](text []byte) (body T, inner inner, err error) {
	switch into := any(&body).(type) {
	case *string:
		*into = string(text)
		return body, inner, nil
	case *[]byte:
		*into = bytes.Clone(text) // the handler may change it, and not the source
		return body, inner, nil
	}
	var none T
	t := reflect.TypeFor[T]()
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) && (t.Kind() != reflect.Pointer || t.Implements(reflect.TypeFor[wrapper]())) {
		return none, inner, &DecodeError{Type: t.String(), Err: errNull}
	}
	if err := refuseEnvelope(t, text); err != nil {
		return none, inner, err
	}
	// A decoder of T's own may panic, which says nothing of the body.
	err = guarded(func() error {
		if err := json.Unmarshal(text, &body); err != nil {
			return &DecodeError{Type: t.String(), Err: err}
		}
		inner = within(&body)
		return nil
	})
	if err != nil {
		return none, inner, err
	}
	return body, inner, nil
}

// isText reports whether T takes a body as it came.
func isText[T any]() bool {
	switch any(*new(T)).(type) {
	case string, []byte:
		return true
	}
	return false
}
