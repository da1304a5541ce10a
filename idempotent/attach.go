package idempotent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// Attach returns what the handler has attached, for driver.Attach; the first
// use creates it.
func (in *inside) Attach(create func() driver.Attachment) driver.Attachment {
	switch {
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
		in.attached = create()
	}
	return in.attached
}

// inATest is for those who meet a panic of Attach there.
const inATest = "in a unit test, call the handler through Do or Wrap with a dynamo.Store on a table of DynamoDB Local, which dynamodblocal.NewTable makes"

// frozen returns what the handler has attached, once it has returned, with or
// without an error; nil if there is nothing to commit.
func (in *inside) frozen(failed error) (with driver.Attachment, err error) {
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
	empty, err := in.attached.Freeze()
	if err = cmp.Or(failed, err); err != nil || empty {
		return nil, err
	}
	return in.attached, nil
}

// insideOf returns what ctx carries of the innermost call that it belongs to,
// or nil.
func insideOf(ctx context.Context) *inside {
	in, _ := driver.CallOf(ctx).(*inside)
	return in
}
