package idempotent

import "context"

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
