package idempotent

import (
	"cmp"
	"context"
	"fmt"
)

// Attachment, for authors of stores, is what a handler collects to have it
// committed together with its completion: the With of a [Change].
type Attachment interface {
	// Seal ends the collecting, as the handler has returned. An empty
	// attachment is not committed. An error stands for an error of the
	// handler: nothing is committed then. After an error of the handler it is
	// called too, and what it answers does not matter.
	Seal() (empty bool, err error)
}

// Transactional, for authors of stores, is a [Store] that takes attachments: as
// With of a Create or of a Change that finishes a record.
//
// Where it is given one, ok says that all was committed; not ok, that the
// record's condition failed, and nothing was written. A [*Rejected] says that
// the attachment itself was refused, and that this call wrote nothing. After
// any other error the outcome is unknown, and the same call is made again, with
// the same arguments: the store then sends what it has sent before, in a way
// that has it done once. A call whose arguments differ in anything is another
// one.
type Transactional interface {
	Store
	// Commit commits an attachment alone, for a call that runs without a
	// record. id is what the id of its record would be; a call without a key
	// has one of its own.
	Commit(ctx context.Context, id string, with any) error
}

// Attach, for authors of stores, gives the attachment of the innermost call of
// Do, or wrapped handler, that ctx belongs to. The first use within a call
// makes it.
//
// It panics where nothing would commit the attachment: outside of a call, after
// its handler has returned, under [Unprotected], and with a store that is not
// [Transactional]. It panics in a [Step] and in what undoes one too: a later
// attempt, which commits, does not run the step again. What is collected there
// would be lost without a word.
func Attach[A Attachment](ctx context.Context, make func() A) A {
	in, ok := ctx.Value(insideKey{}).(*inside)
	switch {
	case !ok:
		panic("idempotent: a transaction needs the context that Do or a wrapped handler was called with: nothing would commit it")
	case in.steps.x == nil:
		panic("idempotent: a transaction in a call that nothing protects (idempotent.Unprotected): nothing would commit it; " + inATest)
	case in.transactional == nil:
		panic(fmt.Sprintf("idempotent: a transaction in a call whose store, a %T, has none: nothing would commit it; use dynamo.Store; %s", in.steps.x.store, inATest))
	}
	if len(in.path) > 0 {
		panic("idempotent: a transaction within a step, which the attempt that commits may not run again: use it outside of steps")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.returned {
		panic("idempotent: a transaction after the handler has returned: nothing would commit it")
	}
	if in.attached == nil {
		in.attached = make()
	}
	a, ok := in.attached.(A)
	if !ok {
		panic(fmt.Sprintf("idempotent: Attach: the call has a %T already", in.attached))
	}
	return a
}

// inATest is for those who meet a panic of Attach there.
const inATest = "in a unit test, call the handler through Do or Wrap with a dynamo.Store on a table of DynamoDB Local, which dynamodblocal.NewTable makes"

// sealed gives what the handler, which has returned an error or none, has
// attached; nil for nothing.
func (in *inside) sealed(failed error) (with Attachment, err error) {
	if failed == nil {
		failed = in.steps.misuse()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.returned = true
	if in.attached == nil {
		return nil, failed
	}
	// Also after an error: what undoes a step must not add to it.
	empty, err := in.attached.Seal()
	if err = cmp.Or(failed, err); err != nil || empty {
		return nil, err
	}
	return in.attached, nil
}
