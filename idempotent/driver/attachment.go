package driver

import (
	"context"
	"fmt"
)

// An Attachment collects writes that a handler wants committed together with
// the completion of its call. It is the With of a [Change] or of a Create.
type Attachment interface {
	// Freeze ends the collecting: the handler has returned. Freeze reports
	// whether there is nothing to commit. An error replaces the result of the
	// handler, and nothing is committed. Freeze is also called after an error
	// of the handler; its results are then ignored.
	Freeze() (empty bool, err error)
}

// A Transactional is a [Store] that commits attachments: as the with of a
// Create, and as the With of a Change that finishes a record.
//
// If ok is true, everything was committed. If it is false, the condition on the
// record failed and nothing was written. A [*Rejected] reports that a condition
// of the attachment failed, and that this request wrote nothing. After any
// other error the outcome is unknown, and the caller sends the same request
// with the same arguments again. The store must make sure that such a request
// is executed once, however often it is sent. A request with other arguments
// is another request.
type Transactional interface {
	Store
	// Commit commits an attachment for a call that runs without a record. The
	// id is unique to the call; if the call has a key, it is the id that its
	// record would have.
	Commit(ctx context.Context, id string, with any) error
}

// Attach returns the attachment of the innermost call of Do, or wrapped
// handler, that ctx belongs to. The first use within a call creates it with
// create.
//
// Attach panics where nothing would commit the attachment: outside of a call,
// after its handler has returned, under idempotent.Unprotected, and with a store
// that is not [Transactional]. It also panics within a step or its undo
// function: the attempt that commits may not run that step again, and what the
// step attached would be lost.
func Attach[A Attachment](ctx context.Context, create func() A) A {
	call := CallOf(ctx)
	if call == nil {
		panic("idempotent: a transaction needs the context that Do or a wrapped handler was called with: nothing would commit it")
	}
	attached := call.Attach(func() Attachment { return create() })
	a, ok := attached.(A)
	if !ok {
		panic(fmt.Sprintf("idempotent: Attach: the call has a %T already", attached))
	}
	return a
}

// A Call is the running call that the context of a handler belongs to. Package
// idempotent implements it.
type Call interface {
	// Attach returns the attachment of the call, and creates it at the first
	// use. It panics where nothing would commit the attachment.
	Attach(create func() Attachment) Attachment
}

type callKey struct{}

// WithCall returns a context that belongs to call. It is called by package
// idempotent, and by nobody else.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the innermost call that ctx belongs to, or nil.
func CallOf(ctx context.Context) Call {
	call, _ := ctx.Value(callKey{}).(Call)
	return call
}
