package dynamo

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
)

// Tx collects writes that are committed together with the completion of a
// call, in one TransactWriteItems: all of them and the record's, or none. Get
// it with [Transaction].
//
// Nothing is sent before the handler has returned nil, and the call has
// succeeded when the transaction has. Where a condition of the handler's does
// not hold, the call fails with the error of [Condition.Else], or with a
// [*TransactionError], just as if the handler had returned it.
//
// A transaction holds at most 100 items, with the record's and one for each
// aggregate that messages are published for, of 4 MB together. What cannot be
// sent (that, a value that does not marshal, an item above 400 KB, two
// additions for one key) fails the call with a [*TransactionError] before
// anything is sent.
//
// A Tx is safe for concurrent use. To use it after the handler has returned
// panics: what is added then would be lost without a word.
//
// The zero Tx is for tests of stores, which call Freeze themselves.
type Tx struct {
	mu       sync.Mutex
	items    []addition
	messages []Message
	mistake  error // the first
	sealed   bool
	created  time.Time // of the messages; kept when they are sent again
	requests []*request
}

var _ driver.Attachment = (*Tx)(nil)

// Transaction gives the transaction of the call that ctx belongs to: the same
// one each time. It panics outside of a call, under idempotent.Unprotected, and
// where the call's store is not a [*Store]. So it does within a step and within
// what undoes one: the attempt that commits may not run the step again. Do not
// use one there either that was got outside.
func Transaction(ctx context.Context) *Tx {
	return driver.Attach(ctx, func() *Tx { return new(Tx) })
}

// Put writes a whole item, which may be a struct or a map, marshalled by the
// attributevalue package; a map of attribute values is taken as it is, and must
// not be changed afterwards.
func (t *Tx) Put(table string, item any, conditions ...Condition) {
	a, err := put(table, item, conditions)
	t.add("Put", a, err)
}

// Update changes an item. The key is given as an item is for Put.
func (t *Tx) Update(table string, key any, update expression.UpdateBuilder, conditions ...Condition) {
	a, err := updateOf(table, key, update, conditions)
	t.add("Update", a, err)
}

// Delete removes an item. The key is given as an item is for Put.
func (t *Tx) Delete(table string, key any, conditions ...Condition) {
	a, err := deletion(table, key, conditions)
	t.add("Delete", a, err)
}

// Check demands a condition of an item that the transaction does not write.
// An item that it writes takes the condition with the write.
func (t *Tx) Check(table string, key any, condition Condition) {
	a, err := check(table, key, condition)
	t.add("Check", a, err)
}

// Add adds anything that a transaction can hold. What item points to must not
// be changed afterwards.
func (t *Tx) Add(item types.TransactWriteItem) {
	a, err := raw(item)
	t.add("Add", a, err)
}

// Publish adds a message to the outbox of the store, [Options.Outbox], which
// is written in the same transaction. Messages of one aggregate go out in the
// order in which they were added.
func (t *Tx) Publish(m Message) {
	err := m.validate()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mustBeOpen("Publish")
	if err != nil {
		t.mistaken(&TransactionError{Index: -1, Code: CodeInvalid, Err: err})
		return
	}
	t.messages = append(t.messages, m.clone())
}

// add keeps an addition that cannot be sent as well: the others keep their
// numbers.
func (t *Tx) add(method string, a addition, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mustBeOpen(method)
	if err != nil {
		t.mistaken(&TransactionError{Index: len(t.items), Code: CodeInvalid, Err: err})
	}
	t.items = append(t.items, a)
}

func (t *Tx) mistaken(err error) {
	if t.mistake == nil {
		t.mistake = err
	}
}

func (t *Tx) mustBeOpen(method string) {
	if t.sealed {
		panic("dynamo: Tx." + method + ": the handler has returned, and nothing would commit what is added now")
	}
}

// Freeze ends the collecting, as [driver.Attachment] says. It is called for
// the handler, when that has returned.
func (t *Tx) Freeze() (empty bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sealed {
		t.sealed, t.created = true, time.Now()
		if t.mistake == nil {
			t.mistake = t.checkLimits()
		}
	}
	return len(t.items)+len(t.messages) == 0, t.mistake
}
