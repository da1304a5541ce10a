package driver

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/internal/options"
)

// An Attachment collects writes that a handler wants committed together with
// the completion of its call. It is passed to a store as [Change].With, or as
// the last argument of Create.
type Attachment interface {
	// Freeze prevents further additions and reports whether there is nothing
	// to commit. It is called when the handler has returned. An error replaces
	// the handler's result, and nothing is committed. After an error of the
	// handler, the results of Freeze are ignored.
	Freeze() (empty bool, err error)
}

// A Discarder is an [Attachment] that holds something from its creation until it is
// committed, such as a connection with an open transaction.
//
// Discard frees it. It is called after an error or a panic of the handler, before the
// record is released, and once more when the call has ended, also after a commit. It
// must undo nothing that was committed. No context limits it, so it must return soon
// by itself.
type Discarder interface {
	Attachment
	Discard()
}

// An Exclusive is an [Attachment] that may hold a lock or connection that the writes of
// its call need. Exclusive returns why a step of the call could not be stored while the
// attachment is open, or "". The step is then refused before its function runs.
type Exclusive interface {
	Attachment
	Exclusive() string
}

// A Transactional is a [Store] that commits attachments: with a Create, and
// with a Change that finishes a record.
//
// If ok is true, everything was committed. If it is false, the condition on the
// record failed and nothing was written. A [*Rejected] reports that a condition
// of the attachment failed, and that this request wrote nothing. After all
// remaining errors the outcome is unknown, and the caller repeats the request with
// the same arguments. The store must execute such a request at most once,
// however often it is sent. A request with different arguments is a new one.
type Transactional interface {
	Store
	// Commit commits an attachment for a call that runs without a record. The
	// id is the one that the call's record would have; a call without a key has
	// an id of its own. Calls with one key share an id, and each of them
	// commits: the id is no idempotency token.
	Commit(ctx context.Context, id string, with any) error
}

// Attach returns the attachment of the innermost call of Do, or wrapped
// handler, that ctx belongs to. On the first use within a call, it creates the
// attachment with create.
//
// Attach panics where nothing would commit the attachment: outside a call,
// after its handler has returned, under idempotent.Unprotected, and with a store
// that is not [Transactional]. It also panics within a step or its undo
// function. The attempt that commits may not run that step again, and would
// lose the step's attachment.
func Attach[A Attachment](ctx context.Context, create func() A) A {
	call := CallOf(ctx)
	if call == nil {
		panic("idempotent: no call in the context to commit the transaction: use the context that Do or Wrap passes to the handler")
	}
	attached := call.Attach(func() Attachment { return create() })
	a, ok := attached.(A)
	if !ok {
		panic("idempotent: the call already has a transaction of another kind; use one kind in a call, such as postgres.Collect or postgres.Transaction")
	}
	return a
}

// A Call is the running call that the context of a handler belongs to. Package
// idempotent implements it.
type Call interface {
	// Attach returns the attachment of the call, and creates it on the first
	// use. It panics where nothing would commit the attachment.
	Attach(create func() Attachment) Attachment
	// Store returns the store that commits the attachment. It returns nil where
	// Attach panics for want of one.
	Store() Transactional
	// Attached returns the attachments of the call and of the calls around it, the
	// innermost first.
	Attached() []Attachment
	// InvocationEnd returns the end of the Lambda invocation that the call belongs
	// to: its process runs nothing after that. It returns the zero time elsewhere.
	InvocationEnd() time.Time
}

// CallOf returns the innermost call that ctx belongs to, or nil.
func CallOf(ctx context.Context) Call {
	call, _ := options.CallOf(ctx).(Call)
	return call
}

// Arrive reports that a write with ctx has reached a store, and returns how many
// writes of the same batch are about to come: 0 if its call belongs to none. A store
// that sends several writes in one request waits for them until end is closed or, if
// that is nil, for a short time of its own. It is nil for a write with less than a second
// left. See adapter.Sibling. The store passes the time of the wait to [Waited].
func Arrive(ctx context.Context) (coming int, end <-chan struct{}) {
	if arrive := options.Of(ctx).Sibling; arrive != nil {
		coming, end = arrive()
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Second {
		end = nil
	}
	return coming, end
}

// Waited reports that a write with ctx has waited for others of its batch for d before
// it was sent. That is no time of the store: see idempotent.Event.
func Waited(ctx context.Context, d time.Duration) {
	if waited := options.Of(ctx).Waited; waited != nil {
		waited(d)
	}
}
