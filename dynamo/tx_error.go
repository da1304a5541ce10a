package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrTransaction is the sentinel of [*TransactionError], for errors.Is.
var ErrTransaction = errors.New("dynamo: transaction not committed")

// Codes of a [TransactionError] that handlers may meet. The rest are DynamoDB's own.
const (
	CodeConditionFailed = "ConditionalCheckFailed" // DynamoDB's
	CodeConflict        = "TransactionConflict"    // DynamoDB's, after as many tries as the call had time for

	// The following are found before anything is sent.

	CodeDuplicate = "DuplicateItem" // two additions with the same key
	CodeInvalid   = "InvalidItem"   // an addition that DynamoDB could not take
	CodeTooLarge  = "TooLarge"      // an item above 400 KB, or all together above 4 MB
	CodeTooMany   = "TooManyItems"  // more than 100 with the record and the outbox
)

// A TransactionError reports why a transaction was not committed. Its text
// contains no keys and no data.
type TransactionError struct {
	// Index is the number of the refused addition among the handler's calls of
	// Put, Update, Delete, Check and Add, from 0. It is -1 for the transaction as
	// a whole, its record, or a message.
	Index int
	// Code is DynamoDB's reason or, if nothing was sent, one of this package's.
	Code string
	// Item is the stored item if a condition on it failed. It is empty if there
	// was none.
	Item map[string]types.AttributeValue
	// Err is the SDK's error, or reports the mistake in an addition.
	Err error

	message string // DynamoDB's
}

func (e *TransactionError) Error() string {
	subject, text := "the transaction", e.message
	if e.Index >= 0 {
		subject = fmt.Sprintf("addition %d of the transaction", e.Index)
	}
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if text != "" {
		text = ": " + text
	}
	return fmt.Sprintf("dynamo: %s: %s%s", subject, e.Code, text)
}

// SafeText returns the whole text.
func (e *TransactionError) SafeText() string { return e.Error() }

// Is reports whether target is ErrTransaction.
func (e *TransactionError) Is(target error) bool { return target == ErrTransaction }

// Unwrap returns Err.
func (e *TransactionError) Unwrap() error { return e.Err }
