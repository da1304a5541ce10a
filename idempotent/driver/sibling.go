package driver

import "context"

// A Sibling is one of several calls that write at about the same time, as the
// calls of one batch do. A store that sends several writes in one request asks
// it how many more to wait for. Other stores ignore it.
type Sibling interface {
	// Arrive reports that the call's next write has reached the store. It
	// returns how many of its siblings are about to write. It is safe for
	// concurrent use.
	Arrive() (coming int)
}

type siblingKey struct{}

// WithSibling returns a context for the call of one sibling. A nil Sibling
// removes the one of ctx.
func WithSibling(ctx context.Context, s Sibling) context.Context {
	if s == nil && ctx.Value(siblingKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, siblingKey{}, s)
}

// Arrive reports the arrival of a write with ctx at a store, and returns how
// many siblings are about to write: 0 if its call has none.
func Arrive(ctx context.Context) (coming int) {
	if s, ok := ctx.Value(siblingKey{}).(Sibling); ok && s != nil {
		return s.Arrive()
	}
	return 0
}
