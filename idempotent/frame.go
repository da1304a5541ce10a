package idempotent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// mustAllowEffects returns the frame of the call that ctx belongs to. It panics outside of
// a call, and in an optimistic one, which may run in vain.
func mustAllowEffects(ctx context.Context, helper string) *frame {
	f := frameOf(ctx)
	if f == nil {
		panic("idempotent: " + helper + ": the context is not one that Do or a wrapped handler was called with")
	}
	if x := f.steps.x; x != nil && x.config.Optimistic {
		panic("idempotent: " + helper + ": under Config.Optimistic a handler has no effects but its transaction, " +
			"because a call that loses to another runs too; unset it for this handler")
	}
	return f
}

// startLease returns the lease under which the handler runs, and its frame.
func (c *call) startLease(hold protocol.Hold, record driver.Record) *lease {
	f := &frame{
		claim:      Claim{Operation: c.x.operation, RecordID: c.shown, KeyHash: c.hash, Attempt: record.Attempt, Began: record.Began, takeover: record.Used() > 1},
		id:         c.id,
		storeID:    c.x.storeID,
		invocation: c.Invocation,
		outer:      c.outer,
		chain:      c.options.Chain,
		waiting:    c.options.Waiting,
		handlerRun: &handlerRun{transactional: c.x.transactional, attaching: c.options.Attaching},
	}
	c.mode.Hold, c.attempt = hold, record.Attempt
	s := &f.steps
	s.x, s.identity, s.tally, s.mode, s.invocation = c.x, c.identity, c.tally, c.mode, c.Invocation
	s.owner, s.attempt, s.request = record.Owner, record.Attempt, len(record.Request)
	s.stored, s.known = record.Steps, maps.Clone(record.Steps)
	f.earlier, c.runs = c.runs, f.handlerRun
	return &lease{record: record, frame: f}
}

// nests reports whether f is inside of a call on the same record.
func (f *frame) nests(storeID any, id string) bool {
	for ; f != nil; f = f.outer {
		if f.id == id && f.storeID == storeID && f.steps.mode.HasRecord() {
			return true
		}
	}
	return false
}

// Attach returns the attachment of the call for driver.Attach, and creates it
// at the first use.
func (f *frame) Attach(create func() driver.Attachment) driver.Attachment {
	switch {
	case f.steps.mode.IsExecution():
		panic("idempotent: a transaction in a durable function itself, which runs again after each suspension: " + inADurableStep)
	case f.steps.x == nil:
		panic("idempotent: a transaction in a call that nothing protects (idempotent.Unprotected): nothing would commit it; " + inATest)
	case f.transactional == nil:
		panic(fmt.Sprintf("idempotent: a transaction in a call whose store, a %T, has none: nothing would commit it; use a dynamo.Store or a postgres.Store; %s", f.steps.x.store, inATest))
	}
	if len(f.path) > 0 {
		panic("idempotent: a transaction within a step, which the attempt that commits may not run again: use it outside of steps")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.returned {
		panic("idempotent: a transaction after the handler has returned: nothing would commit it")
	}
	if f.attached == nil {
		if f.attaching != nil {
			f.attaching()
		}
		f.attached = create()
	}
	return f.attached
}

// Store returns the store that commits the attachment of the call, or nil.
func (f *frame) Store() driver.Transactional { return f.transactional }

// Attached returns the attachments of the call and of the calls around it.
func (f *frame) Attached() (all []driver.Attachment) {
	for ; f != nil; f = f.outer {
		f.mu.Lock()
		if f.attached != nil {
			all = append(all, f.attached)
		}
		f.mu.Unlock()
	}
	return all
}

// exclusive returns why a step could not be stored beside the attachments, or "".
func (f *frame) exclusive() string {
	for _, a := range f.Attached() {
		if e, ok := a.(driver.Exclusive); ok && e.Exclusive() != "" {
			return e.Exclusive()
		}
	}
	return ""
}

// InvocationEnd returns the end of the outermost call's invocation, or zero.
func (f *frame) InvocationEnd() time.Time { return f.invocation }

const inADurableStep = "within a durable step, call Do with the context of durablefunc.InStep"

// inATest advises authors of tests that meet a panic of Attach.
const inATest = "in a unit test, call the handler through Do or Wrap with a dynamo.Store or a postgres.Store on a local server, which dynamodblocal.NewTable and postgreslocal.NewDatabase provide"

// freeze freezes the attachment after the handler has returned, with or without
// an error. It returns nil if there is nothing to commit.
func (f *frame) freeze(failed error) (with driver.Attachment, err error) {
	if failed == nil {
		failed, _, _ = f.steps.left()
	}
	f.mu.Lock()
	f.returned = true
	attached := f.attached
	f.mu.Unlock()
	if attached == nil {
		return nil, failed
	}
	// Also after an error: an undo function must not add to the attachment.
	empty, err := attached.Freeze()
	if err = cmp.Or(failed, err); err != nil || empty {
		f.discard()
		return nil, err
	}
	return attached, nil
}

// discard frees the attachment's connection after the call, committed or not.
func (s *handlerRun) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.attached.(driver.Discarder); ok {
		d.Discard()
	}
}

// frameOf returns the frame of the innermost call that ctx belongs to, or nil.
func frameOf(ctx context.Context) *frame {
	f, _ := options.CallOf(ctx).(*frame)
	return f
}
