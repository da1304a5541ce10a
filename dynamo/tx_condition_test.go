package dynamo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestElseChoosesTheError(t *testing.T) {
	errFunds, errClosed := errors.New("insufficient funds"), errors.New("closed")
	enough := If(expression.Name("balance").GreaterThanEqual(expression.Value(5)))
	open := If(expression.Name("open").Equal(expression.Value(true)))
	for name, c := range map[string]struct {
		conditions []Condition
		want       error // nil: the TransactionError
		text       string
	}{
		"none":             {[]Condition{enough}, nil, "addition 0 of the transaction: ConditionalCheckFailed"},
		"an error":         {[]Condition{enough.Else(func(*TransactionError) error { return errFunds })}, errFunds, ""},
		"nil":              {[]Condition{enough.Else(func(*TransactionError) error { return nil })}, nil, ""},
		"a panic":          {[]Condition{enough.Else(func(*TransactionError) error { panic("oops") })}, nil, ""},
		"the first of two": {[]Condition{enough, open.Else(func(*TransactionError) error { return errClosed })}, errClosed, ""},
		"both": {[]Condition{
			enough.Else(func(*TransactionError) error { return errFunds }), open.Else(func(*TransactionError) error { return errClosed }),
		}, errFunds, ""},
		"by the item": {[]Condition{enough.Else(func(e *TransactionError) error {
			if len(e.Item) == 0 {
				return errClosed
			}
			return fmt.Errorf("%w: %s", errFunds, showValue(e.Item["balance"]))
		})}, errFunds, "insufficient funds: N3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := inOwnTable(t, nil)
			create(t, s, claim("op#1"))
			putItem(t, s, map[string]types.AttributeValue{"id": text("account"), "balance": number(3)})
			tx := new(Tx)
			tx.Update(s.table, accountKey("account"), expression.Add(expression.Name("balance"), expression.Value(-5)), c.conditions...)
			_, ok, err := s.Change(t.Context(), fence("op#1"), completion(frozen(t, tx)))
			var rejected *driver.Rejected
			if ok || !errors.As(err, &rejected) {
				t.Fatalf("%v, %v", ok, err)
			}
			if c.want != nil && !errors.Is(rejected.Err, c.want) || c.want == nil && !errors.Is(rejected.Err, ErrTransaction) {
				t.Errorf("%v", rejected.Err)
			}
			check.Says(t, rejected.Err, c.text, "does not say")
			item := rawItem(t, s, "account")
			check.Equal(t, showValue(item["balance"]), "N3")
			check.Equal(t, get(t, s, "op#1").Status, driver.InProgress)
		})
	}
}
