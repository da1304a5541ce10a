package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// addition is one item of a transaction.
type addition struct {
	write  types.TransactWriteItem
	failed func(*TransactionError) error
	table  string
	key    map[string]types.AttributeValue // nil for a Put: only the table knows its attributes
	size   int                             // DynamoDB also counts the item that an update finds
}

// A failed condition always returns the item that it met. Nothing else tells why
// it failed.
const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

// newAddition copies the write that it changes.
func newAddition(w types.TransactWriteItem) (addition, error) {
	a := addition{write: w}
	var tables []*string
	if p := w.Put; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		a.write.Put, a.size, tables = &c, attribute.ItemSize(c.Item), append(tables, c.TableName)
	}
	if p := w.Update; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		a.size = attribute.ItemSize(c.Key) + attribute.ItemSize(c.ExpressionAttributeValues)
		a.write.Update, a.key, tables = &c, c.Key, append(tables, c.TableName)
	}
	if p := w.Delete; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		a.write.Delete, a.key, a.size, tables = &c, c.Key, attribute.ItemSize(c.Key), append(tables, c.TableName)
	}
	if p := w.ConditionCheck; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		a.write.ConditionCheck, a.key, a.size, tables = &c, c.Key, attribute.ItemSize(c.Key), append(tables, c.TableName)
	}
	if len(tables) != 1 {
		return addition{}, errors.New("it must be one Put, Update, Delete or ConditionCheck")
	}
	if a.table = aws.ToString(tables[0]); a.table == "" {
		return addition{}, errors.New("the name of its table is empty")
	}
	return a, nil
}

// parts are those of an addition.
type parts struct {
	expression.Expression
	attributes map[string]types.AttributeValue // an item or a key
	failed     func(*TransactionError) error
	err        error
}

func newParts(attributes any, conditions []Condition, b expression.Builder) parts {
	m, err := marshal(attributes)
	if err != nil {
		return parts{err: err}
	}
	all, err := both(conditions)
	if err != nil {
		return parts{err: err}
	}
	if len(conditions) > 0 {
		b = b.WithCondition(all.builder)
	}
	e, err := b.Build()
	if unset := (expression.UnsetParameterError{}); errors.As(err, &unset) && len(conditions) == 0 {
		err = nil // there is no expression at all
	}
	if err != nil {
		err = fmt.Errorf("its expression: %w", err)
	}
	return parts{e, m, all.failed, err}
}

func marshal(attributes any) (map[string]types.AttributeValue, error) {
	m, ok := attributes.(map[string]types.AttributeValue)
	if !ok {
		var err error
		if m, err = attributevalue.MarshalMap(attributes); err != nil {
			return nil, fmt.Errorf("its item or key: %w", err)
		}
	}
	if len(m) == 0 {
		return nil, errors.New("its item or key has no attributes; it must be a struct or a map")
	}
	return m, nil
}
