package idempotent

import "context"

// Wrap returns a Lambda handler that calls fn once per key, and returns the
// first result to every repetition. It calls key before fn, so fn may change
// the request. An error of key is returned as it is. Results and errors are
// those of [Do].
//
// The returned function has the plain type that lambda.Start accepts. Wrap
// panics if an argument is nil.
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

// requireParts panics when the function starts, and not in its first
// invocation.
func requireParts(of string, x *Executor, key, fn bool) {
	switch {
	case x == nil:
		panic("idempotent: " + of + ": the Executor is nil")
	case x.store == nil:
		panic("idempotent: " + of + ": the Executor is the zero value; use New")
	case !key:
		panic("idempotent: " + of + ": the key function is nil; there is no default key")
	case !fn:
		panic("idempotent: " + of + ": the handler is nil")
	}
}

// Do calls fn once for the key, and returns the first result to every
// repetition. Every error is one of this package's types, or fn's own. Do
// panics if fn is nil, or if x does not come from [New].
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
	return func(ctx context.Context, request Req) error {
		k, err := key(request)
		return x.do(ctx, k, err, &wrappedEffect[Req]{fn: fn, request: request})
	}
}
