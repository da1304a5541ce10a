package dynamo

import (
	"errors"
	"fmt"
	"reflect"

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
		if a.size > attribute.MaxItemSize {
			return &TransactionError{Index: i, Code: CodeTooLarge,
				Err: fmt.Errorf("it has %d bytes; DynamoDB allows items of %d", a.size, attribute.MaxItemSize)}
		}
		total += a.size
	}
	outbox := t.outboxItems("", "", "")
	for _, o := range outbox {
		if o.size > attribute.MaxItemSize {
			return &TransactionError{Index: -1, Code: CodeTooLarge,
				Err: fmt.Errorf("the messages of one aggregate have %d bytes; they are one item, and DynamoDB allows %d", o.size, attribute.MaxItemSize)}
		}
		total += o.size
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

// checkTwice compares the keys of all additions but Puts.
func (t *Tx) checkTwice() error {
	for i, a := range t.items {
		for _, b := range t.items[:i] {
			if a.key != nil && a.table == b.table && reflect.DeepEqual(a.key, b.key) {
				return &TransactionError{Index: i, Code: CodeDuplicate,
					Err: errors.New("an earlier addition has the same key; make one write of the two, with both conditions")}
			}
		}
	}
	return nil
}
