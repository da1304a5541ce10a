package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Condition is what must hold of an item for the transaction to be committed.
// Make one with [If].
type Condition struct {
	builder expression.ConditionBuilder
	failed  func(*TransactionError) error
}

// If makes a condition of an expression.
func If(c expression.ConditionBuilder) Condition { return Condition{builder: c} }

// Else says what the call fails with where the condition does not hold; the
// default is the [*TransactionError] itself. Its Item is what was stored, so
// that a balance that is too low can be told from an account that is missing.
// The error counts as the handler's own: make it permanent with
// idempotent.Permanent where a retry would meet the same.
//
// DynamoDB does not say which of several conditions of one item failed: the
// first of them that has an Else speaks for all. It may be called more than
// once, and must not block.
func (c Condition) Else(failed func(*TransactionError) error) Condition {
	c.failed = failed
	return c
}

var errZeroCondition = errors.New("a condition is the zero one; make it with dynamo.If")

// both makes one of several conditions.
func both(conditions []Condition) (all Condition, err error) {
	for i, c := range conditions {
		switch {
		case !c.builder.IsSet():
			return Condition{}, errZeroCondition
		case i == 0:
			all.builder = c.builder
		default:
			all.builder = all.builder.And(c.builder)
		}
		if all.failed == nil {
			all.failed = c.failed
		}
	}
	return all, nil
}

// refusal is what the call fails with. An Else that has no answer must not
// turn a refusal into a success.
func refusal(failed func(*TransactionError) error, e *TransactionError) (err error) {
	if failed == nil {
		return e
	}
	defer func() {
		if p := recover(); p != nil {
			e.Err = errors.Join(fmt.Errorf("its Else panicked: %v", p), e.Err)
			err = e
		}
	}()
	if err = failed(e); err == nil {
		return e
	}
	return err
}
