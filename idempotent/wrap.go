package idempotent

import (
	"context"
	"reflect"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// Wrap returns a Lambda handler that calls fn once per key, and returns the
// first result to every repetition. It calls key before fn, so fn may change
// the request. An error of key is returned as it is. Results and errors are
// those of [Do].
//
// The returned function has the plain type that lambda.Start accepts. Wrap
// panics with a [*driver.ConfigError] if an argument is nil, or if the Codec is
// [JSON], which carries no result of type Resp: a struct without exported fields, a
// function, a channel or a complex number.
func Wrap[Req, Resp any](x *Executor, key func(Req) (Key, error), fn func(context.Context, Req) (Resp, error)) func(context.Context, Req) (Resp, error) {
	requireParts("Wrap", x, key != nil, fn != nil)
	requireResult[Resp]("Wrap", x)
	requireRequest[Req]("Wrap", x)
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

// requireParts panics when the function starts, and not in its first
// invocation.
func requireParts(of string, x *Executor, key, fn bool) {
	if x != nil && x.store != nil && key && fn {
		return // without an allocation for each call of Do
	}
	var mistakes driver.Mistakes
	mistakes.If(x == nil, "idempotent: %s: the Executor is nil", of)
	mistakes.If(x != nil && x.store == nil, "idempotent: %s: the Executor is the zero value; use New", of)
	mistakes.If(!key, "idempotent: %s: the key function is nil; there is no default key", of)
	mistakes.If(!fn, "idempotent: %s: the handler is nil", of)
	mistakes.Panic()
}

// requireResult panics if JSON carries no result of type T: each repetition would receive
// an empty one, without an error. A different Codec may carry it.
func requireResult[T any](of string, x *Executor) {
	if lost, _ := x.lost(reflect.TypeFor[T]()); lost != "" {
		var mistakes driver.Mistakes
		mistakes.Add("idempotent: %s: the result: %s", of, lost)
		mistakes.Panic()
	}
}

// lost returns why JSON carries no result of type t, or "", and whether it would store an
// empty one without an error.
func (x *Executor) lost(t reflect.Type) (reason string, silently bool) {
	if _, ok := x.carried.Load(t); ok {
		return "", false
	}
	if _, ok := x.config.Codec.(JSON); ok {
		if reason, silently = canonical.Lost(t); reason != "" {
			return reason + "; or set Config.Codec", silently
		}
	}
	x.carried.Store(t, nil)
	return "", false
}

// Do calls fn once for the key, and returns the first result to every
// repetition. Every error is one of this package's types, or fn's own. Do
// panics if fn is nil, if x does not come from [New], or if [JSON] carries no result
// of type T (see [Wrap]).
//
// An error of fn wrapped with [Permanent] is stored. An error without it releases
// the key for a retry. Do drops a result that fn returns along with an error.
// If fn panics, the key is released and the panic continues.
//
// A repetition receives the result as the Codec stored it. With [JSON] it is
// the same JSON value: unexported fields and fields with the tag `json:"-"` are
// zero. A number within an any is a float64, or a json.Number if a float64
// would change it.
//
// The context of fn ends Config.Reserve before the lease. A result that fn
// returns after that is recorded all the same, unless a later call took over.
// After an error that fn returns then, the call has timed out: see
// [TimedOutError].
func Do[T any](ctx context.Context, x *Executor, key Key, fn func(context.Context) (T, error)) (T, error) {
	requireParts("Do", x, true, fn != nil)
	requireResult[T]("Do", x)
	w := typed[T]{codec: x.config.Codec, fn: fn}
	if err := x.do(ctx, key, nil, &w); err != nil {
		var none T
		return none, err
	}
	return w.result, nil
}

// WrapEffect is [Wrap] for a function without a result. It stores the JSON
// value null, unsealed and whatever the Codec. It does not read the result in a
// completed record, and so never returns a [*ResultUnavailableError] for one.
func WrapEffect[Req any](x *Executor, key func(Req) (Key, error), fn func(context.Context, Req) error) func(context.Context, Req) error {
	requireParts("WrapEffect", x, key != nil, fn != nil)
	requireRequest[Req]("WrapEffect", x)
	return func(ctx context.Context, request Req) error {
		k, err := key(request)
		return x.do(ctx, k, err, &wrappedEffect[Req]{fn: fn, request: request})
	}
}
