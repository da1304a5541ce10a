package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// addition is one item of a transaction.
type addition struct {
	write  types.TransactWriteItem
	failed func(*TransactionError) error
}

// A failed condition always returns the item that it met. Nothing else tells why
// it failed.
const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func put(table string, item any, conditions []Condition) (addition, error) {
	all, failed, err := parts(table, item, conditions, expression.NewBuilder())
	if err != nil {
		return addition{}, err
	}
	return addition{failed: failed, write: types.TransactWriteItem{Put: &types.Put{
		ConditionExpression:                 all.Condition(),
		ExpressionAttributeNames:            all.Names(),
		ExpressionAttributeValues:           all.Values(),
		Item:                                all.attributes,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &table,
	}}}, nil
}

func updateOf(table string, key any, update expression.UpdateBuilder, conditions []Condition) (addition, error) {
	all, failed, err := parts(table, key, conditions, expression.NewBuilder().WithUpdate(update))
	if err != nil {
		return addition{}, err
	}
	if all.Update() == nil {
		return addition{}, errors.New("the update is empty")
	}
	return addition{failed: failed, write: types.TransactWriteItem{Update: &types.Update{
		ConditionExpression:                 all.Condition(),
		ExpressionAttributeNames:            all.Names(),
		ExpressionAttributeValues:           all.Values(),
		Key:                                 all.attributes,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &table,
		UpdateExpression:                    all.Update(),
	}}}, nil
}

func deletion(table string, key any, conditions []Condition) (addition, error) {
	all, failed, err := parts(table, key, conditions, expression.NewBuilder())
	if err != nil {
		return addition{}, err
	}
	return addition{failed: failed, write: types.TransactWriteItem{Delete: &types.Delete{
		ConditionExpression:                 all.Condition(),
		ExpressionAttributeNames:            all.Names(),
		ExpressionAttributeValues:           all.Values(),
		Key:                                 all.attributes,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &table,
	}}}, nil
}

func conditionCheck(table string, key any, condition Condition) (addition, error) {
	all, failed, err := parts(table, key, []Condition{condition}, expression.NewBuilder())
	if err != nil {
		return addition{}, err
	}
	return addition{failed: failed, write: types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		ConditionExpression:                 all.Condition(),
		ExpressionAttributeNames:            all.Names(),
		ExpressionAttributeValues:           all.Values(),
		Key:                                 all.attributes,
		ReturnValuesOnConditionCheckFailure: allOld,
		TableName:                           &table,
	}}}, nil
}

// built contains the parts of an addition.
type built struct {
	expression.Expression
	attributes map[string]types.AttributeValue // an item or a key
}

func parts(table string, attributes any, conditions []Condition, b expression.Builder) (built, func(*TransactionError) error, error) {
	if table == "" {
		return built{}, nil, errNoTable
	}
	m, err := marshal(attributes)
	if err != nil {
		return built{}, nil, err
	}
	all, err := both(conditions)
	if err != nil {
		return built{}, nil, err
	}
	if len(conditions) > 0 {
		b = b.WithCondition(all.builder)
	}
	e, err := b.Build()
	if unset := (expression.UnsetParameterError{}); errors.As(err, &unset) && len(conditions) == 0 {
		err = nil // there is no expression at all
	}
	if err != nil {
		return built{}, nil, fmt.Errorf("its expression: %w", err)
	}
	return built{e, m}, all.failed, nil
}

var (
	errNoTable      = errors.New("the name of its table is empty")
	errNoAttributes = errors.New("its item or key has no attributes; it must be a struct or a map")
)

func marshal(attributes any) (map[string]types.AttributeValue, error) {
	m, ok := attributes.(map[string]types.AttributeValue)
	if !ok {
		var err error
		if m, err = attributevalue.MarshalMap(attributes); err != nil {
			return nil, fmt.Errorf("its item or key: %w", err)
		}
	}
	if len(m) == 0 {
		return nil, errNoAttributes
	}
	return m, nil
}

// raw copies the write that it changes.
func raw(item types.TransactWriteItem) (addition, error) {
	var tables []*string
	if p := item.Put; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		item.Put, tables = &c, append(tables, c.TableName)
	}
	if p := item.Update; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		item.Update, tables = &c, append(tables, c.TableName)
	}
	if p := item.Delete; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		item.Delete, tables = &c, append(tables, c.TableName)
	}
	if p := item.ConditionCheck; p != nil {
		c := *p
		c.ReturnValuesOnConditionCheckFailure = allOld
		item.ConditionCheck, tables = &c, append(tables, c.TableName)
	}
	switch {
	case len(tables) != 1:
		return addition{}, errors.New("it must be one Put, Update, Delete or ConditionCheck")
	case tables[0] == nil || *tables[0] == "":
		return addition{}, errNoTable
	}
	return addition{write: item}, nil
}
