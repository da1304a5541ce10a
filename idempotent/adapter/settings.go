package adapter

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// A Setting says how a call of Do or of a wrapped handler is made. See [With].
type Setting struct{ set func(*options.Options) }

// With returns a context whose calls have these settings, and keep the remaining
// settings of ctx. They do not apply to calls that the handlers of these calls make.
func With(ctx context.Context, settings ...Setting) context.Context {
	o := *options.Of(ctx)
	for _, s := range settings {
		s.set(&o)
	}
	return options.With(ctx, &o)
}

// WithEvent returns a context for one call, and the Event that it fills in: the
// setting [Event] alone.
func WithEvent(ctx context.Context) (context.Context, *idempotent.Event) {
	event := new(idempotent.Event)
	return With(ctx, Event(event)), event
}

// Attaching has f called when the handler opens a transaction, before the first
// write is added to it. f panics if the transaction comes too late. It serves
// adapters whose handlers respond while they run: a client that has received a
// part of the response cannot be told that nothing was committed.
func Attaching(f func()) Setting {
	return Setting{func(o *options.Options) { o.Attaching = f }}
}

// Chain continues the chain of the [idempotent.ChainKey] that came with the
// message. Use it only for messages from trusted senders: the sender chooses
// the keys of the messages that follow. An empty key sets nothing.
func Chain(key string) Setting {
	return Setting{func(o *options.Options) { o.Chain = cmp.Or(key, o.Chain) }}
}

// Event has e filled in before the call returns. Adapters use it to label
// replays, and tests to inspect a call. Make only one call with it.
func Event(e *idempotent.Event) Setting {
	return Setting{func(o *options.Options) { o.Event = e }}
}

// EventOf returns the event that the setting [Event] of ctx fills in, or nil. An adapter
// uses it in place of one of its own.
func EventOf(ctx context.Context) *idempotent.Event {
	e, _ := options.Of(ctx).Event.(*idempotent.Event)
	return e
}

// LastStart sets the time after which the handler does not start. Every call to
// the store before the start may take half of the time until then, at least
// 500 ms and at most 5 s. So a store that does not answer leaves time for the
// rest of a batch. The zero time sets no limit.
//
// If the claim is answered after the last start, it is released uncounted. The call
// then returns timeUp, or context.DeadlineExceeded if timeUp is nil, and its outcome
// is [idempotent.OutcomeNotRun].
func LastStart(t time.Time, timeUp error) Setting {
	return Setting{func(o *options.Options) { o.LastStart, o.TimeUp = t, timeUp }}
}

// ReadFirst makes the call read its record before it claims it, as
// Config.ReadFirst does. It serves adapters that know that an event has been
// delivered before. ReadFirst(false) sets nothing.
func ReadFirst(on bool) Setting {
	return Setting{func(o *options.Options) { o.ReadFirst = on || o.ReadFirst }}
}

// Resolved has f called with a result that an operator has stored, in place of the
// decoding into the caller's type. It reports whether it has accepted the data. A
// call without this setting returns an error for a response of package httpapi.
func Resolved(f func(data []byte) bool) Setting {
	return Setting{func(o *options.Options) { o.Resolved = f }}
}

// Resumed makes the call take the record over, which was read as r, and nothing else. If
// the key of the call names another record, or if there is none, nothing runs, the error is
// an [*idempotent.ResumeError], and the outcome [idempotent.OutcomeNotRun].
func Resumed(r driver.Record) Setting {
	return Setting{func(o *options.Options) { o.Resumed = &r }}
}

// Sibling joins the call to those that write at about the same time, such as the
// records of one batch. A store that sends several writes in one request calls
// arrive when a write of the call has reached it, and waits for as many more as are
// coming: until end is closed or, if that is nil, for as long as the store waits by
// itself. arrive must be safe for concurrent use.
func Sibling(arrive func() (coming int, end <-chan struct{})) Setting {
	return Setting{func(o *options.Options) { o.Sibling = arrive }}
}

// Turn has f called when the call has claimed its record, before it runs the
// handler. It serves adapters that claim the records of a batch together and run
// them in sequence.
//
// The context of f is the handler's: it ends with the lease. After an error
// of f, the handler does not run, and the claim is released uncounted. The
// call then returns that error, and its outcome is [idempotent.OutcomeNotRun].
// The outcome is also OutcomeNotRun if f returns after the lease has ended, or if
// the claim had failed open. It is the same for a call that ends before it has
// called f, unless it has replayed a result. Make such a call again, in its turn.
//
// Do not set Turn for an executor of which [ClaimsAhead] is false.
func Turn(f func(context.Context) error) Setting {
	return Setting{func(o *options.Options) { o.Turn = f }}
}

// Wait sets how long the call waits for the result of a running duplicate, in
// place of Config.Wait. It serves adapters that know how long their trigger can
// wait. Whether identical calls of one process share an execution depends on
// Config.Wait alone.
func Wait(d time.Duration) Setting {
	return Setting{func(o *options.Options) { o.Wait = &d }}
}

// Waiting has f called if the call waits for a running duplicate for more than a
// moment. Each call within its handler does the same: f may be called
// several times, and at once. It serves adapters that claim ahead (see [Turn]): the
// duplicate may itself be waiting for one of those claims, so release them in
// the meantime.
func Waiting(f func()) Setting {
	return Setting{func(o *options.Options) { o.Waiting = f }}
}
