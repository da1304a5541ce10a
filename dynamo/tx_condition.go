package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// A Condition must hold for the transaction to be committed. Make one with [If].
type Condition struct {
	builder expression.ConditionBuilder
	failed  func(*TransactionError) error
}

// If returns a condition with an expression.
func If(c expression.ConditionBuilder) Condition { return Condition{builder: c} }

// Else returns a condition that uses failed to choose the error of the call if the
// condition does not hold. The default is the [*TransactionError] itself. Its Item
// is the stored one, which tells a low balance from a missing account. The error
// counts as the handler's own: return idempotent.Permanent if a retry would fail
// in the same way.
//
// DynamoDB does not report which of several conditions of one item failed. The
// first one with an Else chooses the error. failed may be called more than once,
// and must not block.
func (c Condition) Else(failed func(*TransactionError) error) Condition {
	c.failed = failed
	return c
}

// both returns one condition for several.
func both(conditions []Condition) (all Condition, err error) {
	for i, c := range conditions {
		switch {
		case !c.builder.IsSet():
			return Condition{}, errors.New("a condition is the zero Condition; make it with dynamo.If")
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

// refusal returns the error of the call. An Else that returns nil must not turn a
// refusal into a success.
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
