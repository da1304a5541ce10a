package options

import "context"

type callKey struct{}

// WithCall returns a context that belongs to a driver.Call.
func WithCall(ctx context.Context, call any) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the innermost driver.Call that ctx belongs to, or nil.
func CallOf(ctx context.Context) any { return ctx.Value(callKey{}) }

type key struct{}

var none Options

// Of returns the options of the next call under ctx, which must not be changed.
func Of(ctx context.Context) *Options {
	if o, _ := ctx.Value(key{}).(*Options); o != nil {
		return o
	}
	return &none
}

// With returns a context whose next call has the options o, which must not be
// changed afterwards.
func With(ctx context.Context, o *Options) context.Context {
	return context.WithValue(ctx, key{}, o)
}

// Enter returns the context of the handler of a driver.Call. A call within has none of
// the options of the handler's call.
func Enter(ctx context.Context, call any) context.Context {
	ctx = WithCall(ctx, call)
	if o, _ := ctx.Value(key{}).(*Options); o == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, (*Options)(nil))
}
