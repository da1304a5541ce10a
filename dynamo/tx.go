package dynamo

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Tx collects writes that are committed together with the completion of a call,
// in one TransactWriteItems: all of them and the record's write, or none.
// [Collect] returns the Tx of a call.
//
// Nothing is sent before the handler returns nil. The call succeeds if the
// transaction does. If a condition does not hold, the call fails with the error
// of [Condition.Else], or with a [*TransactionError], as if the handler had
// returned it.
//
// A transaction contains at most 100 items of 4 MB together. The record is one of
// them, and so are the messages for each aggregate. A call fails with a
// [*TransactionError] before anything is sent if its transaction exceeds these
// limits, if a value does not marshal, if an item exceeds 400 KB, or if two
// additions have the same key.
//
// A Tx is safe for concurrent use. Its methods panic after the handler has
// returned: an addition would be lost silently.
type Tx struct {
	mu       sync.Mutex
	items    []addition
	messages []driver.OutboxMessage
	mistake  error // the first
	frozen   bool
	created  time.Time // of the messages; the same when they are sent again
	token    string    // of the messages; a new one in each attempt
	requests []*request
}

// An attachment is a Tx as package idempotent sees it, which ends the collecting when the
// handler has returned.
type attachment Tx

// Collect returns the Tx of the call that ctx belongs to, the same
// one each time. It panics outside of a call, under idempotent.Unprotected, and if
// the call's store is not a [*Store].
//
// It also panics within a step or its undo function: the attempt that commits may
// not run the step again. Do not use a Tx of the handler there either.
func Collect(ctx context.Context) *Tx {
	return (*Tx)(driver.Attach(ctx, func() *attachment { return new(attachment) }))
}

// Put writes a whole item. The attributevalue package marshals it; it may be a
// struct or a map. A map of attribute values is sent as it is, and must not be
// changed afterwards.
func (t *Tx) Put(table string, item any, conditions ...Condition) {
	p := newParts(item, conditions, expression.NewBuilder())
	t.add("Put", p, types.TransactWriteItem{Put: &types.Put{
		ConditionExpression: p.Condition(), ExpressionAttributeNames: p.Names(), ExpressionAttributeValues: p.Values(),
		Item: p.attributes, TableName: &table,
	}})
}

// Update changes an item. The key is marshalled as an item of Put is.
func (t *Tx) Update(table string, key any, update expression.UpdateBuilder, conditions ...Condition) {
	p := newParts(key, conditions, expression.NewBuilder().WithUpdate(update))
	if p.err == nil && p.Expression.Update() == nil {
		p.err = errors.New("the update is empty")
	}
	t.add("Update", p, types.TransactWriteItem{Update: &types.Update{
		ConditionExpression: p.Condition(), ExpressionAttributeNames: p.Names(), ExpressionAttributeValues: p.Values(),
		Key: p.attributes, TableName: &table, UpdateExpression: p.Expression.Update(),
	}})
}

// Delete removes an item. The key is marshalled as an item of Put is.
func (t *Tx) Delete(table string, key any, conditions ...Condition) {
	p := newParts(key, conditions, expression.NewBuilder())
	t.add("Delete", p, types.TransactWriteItem{Delete: &types.Delete{
		ConditionExpression: p.Condition(), ExpressionAttributeNames: p.Names(), ExpressionAttributeValues: p.Values(),
		Key: p.attributes, TableName: &table,
	}})
}

// Check requires a condition of an item that the transaction does not write. For
// an item that it writes, pass the condition to the write.
func (t *Tx) Check(table string, key any, condition Condition) {
	p := newParts(key, []Condition{condition}, expression.NewBuilder())
	t.add("Check", p, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		ConditionExpression: p.Condition(), ExpressionAttributeNames: p.Names(), ExpressionAttributeValues: p.Values(),
		Key: p.attributes, TableName: &table,
	}})
}

// Add adds any item of a TransactWriteItems. The values that item points to must not
// be changed afterwards.
func (t *Tx) Add(item types.TransactWriteItem) { t.add("Add", parts{}, item) }

// Publish writes a message to the outbox of the store, [Options.Outbox], in the
// same transaction. Messages of one aggregate are published in the order in which
// they were added.
func (t *Tx) Publish(m driver.OutboxMessage) {
	err := checkMessage(m)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mustBeOpen("Publish")
	if err != nil {
		t.mistaken(&TransactionError{Index: -1, Code: CodeInvalid, Err: err})
		return
	}
	m.Body, m.Attributes = bytes.Clone(m.Body), maps.Clone(m.Attributes)
	t.messages = append(t.messages, m)
}

// add records an addition that cannot be sent as well, so that the later ones have
// the index that the handler expects.
func (t *Tx) add(method string, p parts, w types.TransactWriteItem) {
	a, err := newAddition(w)
	if p.err != nil {
		err = p.err
	}
	a.failed = p.failed
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
	if t.frozen {
		panic("dynamo: Tx." + method + ": the handler has returned; nothing would commit this addition")
	}
}

// Freeze ends the collecting, as [driver.Attachment] requires.
func (a *attachment) Freeze() (empty bool, err error) {
	t := (*Tx)(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.frozen {
		t.frozen, t.created, t.token = true, time.Now(), rand.Text()
		if t.mistake == nil {
			t.mistake = t.checkLimits()
		}
	}
	return len(t.items)+len(t.messages) == 0, t.mistake
}
