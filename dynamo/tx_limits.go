package dynamo

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// DynamoDB's limits of one transaction.
const (
	maxTransactionItems = 100
	maxTransactionBytes = 4 << 20
)

// checkLimits returns an error for writes that DynamoDB would refuse, as far as the
// transaction alone shows it.
func (t *Tx) checkLimits() error {
	total := 0
	for i, a := range t.items {
		n := writtenBytes(a.write)
		if n > attribute.MaxItemSize {
			return &TransactionError{Index: i, Code: CodeTooLarge,
				Err: fmt.Errorf("it has %d bytes; DynamoDB allows items of %d", n, attribute.MaxItemSize)}
		}
		total += n
	}
	outbox := t.outboxItems("", "", "")
	for _, o := range outbox {
		n := writtenBytes(o)
		if n > attribute.MaxItemSize {
			return &TransactionError{Index: -1, Code: CodeTooLarge,
				Err: fmt.Errorf("the messages of one aggregate have %d bytes; they are one item, and DynamoDB allows %d", n, attribute.MaxItemSize)}
		}
		total += n
	}
	if n := len(t.items) + len(outbox); n > maxTransactionItems-1 {
		return &TransactionError{Index: -1, Code: CodeTooMany,
			Err: fmt.Errorf("it has %d items, %d of them for messages; DynamoDB allows %d with the record", n, len(outbox), maxTransactionItems)}
	}
	if total > maxTransactionBytes {
		return tooLargeTogether(total)
	}
	return t.checkTwice()
}

func tooLargeTogether(bytes int) error {
	return &TransactionError{Index: -1, Code: CodeTooLarge,
		Err: fmt.Errorf("its items have %d bytes; DynamoDB allows %d", bytes, maxTransactionBytes)}
}

var errTwice = errors.New("an earlier addition has the same key; make one write of the two, with both conditions")

// checkTwice compares keys. The key of a Put is not known here: only the table
// knows its attributes.
func (t *Tx) checkTwice() error {
	for i, a := range t.items {
		table, key := keyed(a.write)
		if key == nil {
			continue
		}
		for _, b := range t.items[:i] {
			if otherTable, otherKey := keyed(b.write); otherTable == table && reflect.DeepEqual(otherKey, key) {
				return &TransactionError{Index: i, Code: CodeDuplicate, Err: errTwice}
			}
		}
	}
	return nil
}

// keyed returns the table and key of a write. A Put has no key here.
func keyed(w types.TransactWriteItem) (table string, key map[string]types.AttributeValue) {
	switch {
	case w.Update != nil:
		return *w.Update.TableName, w.Update.Key
	case w.Delete != nil:
		return *w.Delete.TableName, w.Delete.Key
	case w.ConditionCheck != nil:
		return *w.ConditionCheck.TableName, w.ConditionCheck.Key
	}
	return "", nil
}

// writtenBytes returns the size of a write. DynamoDB also counts what
// an update finds in the table.
func writtenBytes(w types.TransactWriteItem) int {
	switch {
	case w.Put != nil:
		return attribute.ItemSize(w.Put.Item)
	case w.Update != nil:
		return attribute.ItemSize(w.Update.Key) + attribute.ItemSize(w.Update.ExpressionAttributeValues)
	}
	_, key := keyed(w)
	return attribute.ItemSize(key)
}
