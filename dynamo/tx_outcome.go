package dynamo

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
)

// cancelled returns the record that a transaction met, or the error of one that failed.
// It reads the record's reason first: if the fence does not hold, the handler's items
// do not matter, as an earlier request of this call may have written them.
func (s *Store) cancelled(t *Tx, r *request, err error) (met driver.Record, _ error) {
	reasons := reasonsOf(err)
	if len(reasons) != len(r.input.TransactItems) {
		return met, s.failTransaction(r, err)
	}
	if r.own != nil {
		switch code := aws.ToString(reasons[0].Code); code {
		case reasonNone:
		case CodeConditionFailed:
			return s.read(opTransact, reasons[0].Item)
		default:
			return met, s.failReason(r, -1, reasons[0], err)
		}
	}
	first := -1
	for i, reason := range reasons {
		switch code := aws.ToString(reason.Code); {
		case refused(code):
			return met, &driver.Rejected{Err: t.refusal(i-r.offset(), reason, err)}
		case code != reasonNone && first < 0:
			first = i
		}
	}
	if first < 0 {
		return met, s.failTransaction(r, err)
	}
	return met, s.failReason(r, t.index(first-r.offset()), reasons[first], err)
}

const reasonNone = "None"

// reasonsOf returns the reasons of a cancellation, one for each item.
func reasonsOf(err error) []types.CancellationReason {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return nil
	}
	return cancelled.CancellationReasons
}

// refused reports whether a reason is about the request itself. A reason that the
// next try may not meet does not tell whether an earlier try was committed.
func refused(code string) bool {
	switch code {
	case CodeConditionFailed, "ValidationError", "ItemCollectionSizeLimitExceeded":
		return true
	}
	return false
}

// index returns the index of a handler's addition, or -1 if the item is none.
func (t *Tx) index(i int) int {
	if i < 0 || i >= len(t.items) {
		return -1
	}
	return i
}

func (t *Tx) refusal(i int, reason types.CancellationReason, err error) error {
	e := &TransactionError{
		Index: t.index(i), Code: aws.ToString(reason.Code), Item: reason.Item, Err: err, message: aws.ToString(reason.Message),
	}
	if e.Index < 0 || e.Code != CodeConditionFailed {
		return e
	}
	return refusal(t.items[e.Index].failed, e)
}

// resultTooLarge reports whether DynamoDB refused the record for its size.
func (r *request) resultTooLarge(err error) bool {
	if err == nil || r.own == nil || r.own.leaves.Data == nil {
		return false
	}
	if reasons := reasonsOf(err); len(reasons) > 0 {
		return aws.ToString(reasons[0].Code) == "ValidationError" && fault.TooLargeMessage(aws.ToString(reasons[0].Message))
	}
	return fault.TooLarge(err)
}
