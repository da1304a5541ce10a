package idempotent

import (
	"context"
	"fmt"
	"reflect"
)

// Wrap gives a Lambda handler that calls fn once per key, and answers every
// repetition with the first result. key gets the request before fn does, so fn
// may change it. What [Do] says of results and errors holds here too; an error
// of key is answered as it is.
//
// The result is a plain function type, as lambda.Start and
// lambda.StartHandlerFunc take it. Wrap panics if an argument is nil.
func Wrap[Req, Resp any](x *Executor, key func(Req) (Key, error), fn func(context.Context, Req) (Resp, error)) func(context.Context, Req) (Resp, error) {
	requireParts("Wrap", x, key != nil, fn != nil)
	return func(ctx context.Context, request Req) (Resp, error) {
		k, err := key(request)
		w := wrapped[Req, Resp]{typed: typed[Resp]{codec: x.config.Codec}, handler: fn, request: request}
		if err = x.do(ctx, k, err, &w); err != nil {
			var none Resp
			return none, err
		}
		return w.result, nil
	}
}

// requireParts makes the mistake show when the function starts, and not in its
// first invocation.
func requireParts(of string, x *Executor, key, fn bool) {
	switch {
	case x == nil:
		panic("idempotent: " + of + ": the Executor is nil")
	case x.store == nil:
		panic("idempotent: " + of + ": the Executor is the zero one; make it with New")
	case !key:
		panic("idempotent: " + of + ": the key function is nil; there is no default key")
	case !fn:
		panic("idempotent: " + of + ": the handler is nil")
	}
}

// Do calls fn once for the key, and answers every repetition with the first
// result. Every error is one of this package's types, or fn's own. x must come
// from [New]. Do panics if x or fn is nil.
//
// If fn fails, its error decides: [Permanent] stores it, any other releases
// the key for a retry. A result that fn returns along with an error is
// dropped, as no repetition could get it. If fn panics, the key is released
// and the panic goes on.
//
// A repetition receives the result as the Codec stored it. With [JSON] that is
// the same JSON value: unexported fields and fields with the tag `json:"-"` are
// zero, and a number within an any is a float64, or a json.Number where a
// float64 would change it.
//
// The context of fn ends Config.Reserve before the lease does. A result that
// fn returns after that is recorded all the same, if nobody took over. After an
// error that fn returns then, the call has timed out: see [TimedOutError].
func Do[T any](ctx context.Context, x *Executor, key Key, fn func(context.Context) (T, error)) (T, error) {
	requireParts("Do", x, true, fn != nil)
	w := typed[T]{codec: x.config.Codec, fn: fn}
	if err := x.do(ctx, key, nil, &w); err != nil {
		var none T
		return none, err
	}
	return w.result, nil
}

// work is a handler and its result with their types hidden, so that the
// protocol is compiled once and not for every type.
type work interface {
	run(ctx context.Context) error
	encode() ([]byte, error)
	decode(data []byte) error // replaces what run has left
	hasResult() bool
}

type typed[T any] struct {
	codec  Codec
	fn     func(context.Context) (T, error)
	result T
}

func (w *typed[T]) hasResult() bool { return true }

// noResult is the answer to a record that holds no result, as one that another
// library has completed. Only a type whose values are all the same has one there.
func noResult[T any]() error {
	if reflect.TypeFor[T]().Size() == 0 {
		return nil
	}
	return &unreadable{reason: "the record holds no result; another library completed it without one, or it was completed by hand"}
}

func (w *typed[T]) run(ctx context.Context) (err error) {
	w.result, err = w.fn(ctx)
	return err
}

// wrapped spares Wrap a closure for every request.
type wrapped[Req, Resp any] struct {
	typed[Resp]
	handler func(context.Context, Req) (Resp, error)
	request Req
}

func (w *wrapped[Req, Resp]) run(ctx context.Context) (err error) {
	w.result, err = w.handler(ctx, w.request)
	return err
}

// encode makes an error of a panic: the work is done by then, and a record
// that is left in progress would have it done again.
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

// decode makes an error of a panic too: every retry would meet it.
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

// WrapEffect is [Wrap] for a function without a result: that it is done is all
// that a repetition has to know. What is stored is the JSON value null,
// whatever the Codec and unsealed, and what a record holds that another call completed is
// not looked at: there is no [*ResultUnavailableError].
func WrapEffect[Req any](x *Executor, key func(Req) (Key, error), fn func(context.Context, Req) error) func(context.Context, Req) error {
	requireParts("WrapEffect", x, key != nil, fn != nil)
	return func(ctx context.Context, request Req) error {
		k, err := key(request)
		return x.do(ctx, k, err, &wrappedEffect[Req]{fn: fn, request: request})
	}
}

type wrappedEffect[Req any] struct {
	fn      func(context.Context, Req) error
	request Req
}

func (w *wrappedEffect[Req]) hasResult() bool               { return false }
func (w *wrappedEffect[Req]) run(ctx context.Context) error { return w.fn(ctx, w.request) }
func (w *wrappedEffect[Req]) encode() ([]byte, error)       { return []byte("null"), nil }
func (w *wrappedEffect[Req]) decode([]byte) error           { return nil }
