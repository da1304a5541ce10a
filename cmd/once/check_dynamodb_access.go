package main

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/idempotent/driver"
)

// check checks the table, and the permissions of the function's role or the caller. id names
// no record.
func (t *table) check(ctx context.Context, id string, group bool, found *findings) bool {
	of, usable := t.checkSettings(ctx, found)
	if !usable {
		return false
	}
	if t.function != nil {
		t.function.checkRole(ctx, of, t.partitions(id), group, found)
		return true
	}
	may := t.checkAccess(ctx, id, found)
	if group {
		t.checkGroupAccess(ctx, id, found)
	}
	return may
}

// repair says what to do about an error of the first call. With --function, a denial is that of
// the caller, and says nothing about the function.
func (t *table) repair(_ context.Context, err error) (verdict, string) {
	switch {
	case err != nil && isOfKey(err.Error()):
		return wrong, toUseKey
	case errors.Is(err, driver.ErrDenied) && t.function != nil:
		return warning, "grant the caller what once policy --for check prints, or give --read-only"
	case errors.Is(err, driver.ErrDenied):
		return wrong, toGrant
	}
	return wrong, ""
}

// isOfKey reports whether the table's key is what was denied.
func isOfKey(message string) bool { return strings.Contains(strings.ToLower(message), "kms") }

// checkAccess tries the calls of a function, on a key without a record. Writes
// have a condition that never holds: DynamoDB checks permissions first.
// It reports whether all succeed.
func (t *table) checkAccess(ctx context.Context, id string, found *findings) bool {
	key := t.key(id)
	names := map[string]string{"#id": t.attr.ID}
	never := "attribute_exists(#id) AND attribute_not_exists(#id)"
	_, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key})
	may := found.access("dynamodb:GetItem", err)
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	may = found.access("dynamodb:PutItem", err) && may
	_, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &t.name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	may = found.access("dynamodb:UpdateItem", err) && may
	_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	return found.access("dynamodb:DeleteItem", err) && may
}

const accessDenied = "AccessDeniedException"

const toGrant = "grant it to the role of the function: once policy prints the permissions; with a condition on the operation, give --operation"

const toUseKey = "have the policies of the role and of the table's key allow it through DynamoDB: once policy --key prints the permissions; a condition on the encryption context must name this table and its account"

// access adds whether the caller may call an action, and returns it.
func (f *findings) access(action string, err error) bool {
	var never *types.ConditionalCheckFailedException
	var api smithy.APIError
	switch {
	case err == nil, errors.As(err, &never):
		f.say(action, fine, "the caller may", "")
		return true
	case !errors.As(err, &api):
		f.say(action, wrong, "DynamoDB was not reached: "+err.Error(), "see --endpoint, --region and --profile")
	case api.ErrorCode() == accessDenied && isOfKey(api.ErrorMessage()):
		f.say(action, wrong, api.ErrorMessage(), toUseKey)
	case api.ErrorCode() == accessDenied:
		f.say(action, wrong, api.ErrorMessage(), toGrant)
	default:
		f.say(action, wrong, api.ErrorCode()+": "+api.ErrorMessage(), "")
	}
	return false
}

// checkGroupAccess tries the calls of a function with group commit, on keys
// without records.
func (t *table) checkGroupAccess(ctx context.Context, id string, found *findings) {
	if strings.Contains(t.name, ":") {
		found.say("group commit", warning, "off: a function sends each write alone to a table that is given by its ARN", "give functions, and --table, its name")
		return
	}
	key, second := t.key(id), t.key(id+"-") // of the same operation
	_, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{t.name: {Keys: []map[string]types.AttributeValue{key}}},
	})
	found.access("dynamodb:BatchGetItem", err)
	update := t.never("UPDATE "+quoted(t.name)+" REMOVE "+quoted(t.attr.Owner), key)
	found.access("dynamodb:PartiQLUpdate", t.runAlone(ctx, update))
	found.access("dynamodb:PartiQLDelete", t.runAlone(ctx, t.never("DELETE FROM "+quoted(t.name), key)))
	_, err = t.client.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{
		t.insert(second), {Statement: update.Statement, Parameters: update.Parameters},
	}})
	found.inserts(err)
}

// runAlone sends a batch of one statement, as group commit sends its batches. The
// error of a statement arrives in a successful response.
func (t *table) runAlone(ctx context.Context, statement types.BatchStatementRequest) error {
	out, err := t.client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{statement}})
	if err != nil || len(out.Responses) != 1 || out.Responses[0].Error == nil {
		return err
	}
	problem := out.Responses[0].Error
	code := string(problem.Code)
	switch problem.Code {
	case types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return nil
	case types.BatchStatementErrorCodeEnumAccessDenied:
		code = accessDenied
	}
	return &smithy.GenericAPIError{Code: code, Message: aws.ToString(problem.Message)}
}

// inserts judges an INSERT by the transaction in which it was tried. An INSERT has
// no condition, so only a second statement, whose condition never holds, prevents
// it from writing.
func (f *findings) inserts(err error) {
	const action = "dynamodb:PartiQLInsert"
	var canceled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &canceled) && isCanceledByUpdate(canceled.CancellationReasons):
		f.say(action, fine, "the caller may", "")
	case errors.As(err, &api) && api.ErrorCode() == accessDenied && strings.Contains(api.ErrorMessage(), "PartiQLUpdate"):
		f.say(action, warning, "not known: it is tried together with an UPDATE, which the caller may not", "grant dynamodb:PartiQLUpdate, and check again")
	case errors.As(err, &api) && api.ErrorCode() != accessDenied:
		f.say(action, warning, "not known: "+api.ErrorCode()+": "+api.ErrorMessage(), "")
	default:
		f.access(action, err)
	}
}

// isCanceledByUpdate reports whether the condition of the second statement alone has
// canceled the transaction.
func isCanceledByUpdate(reasons []types.CancellationReason) bool {
	return len(reasons) == 2 && aws.ToString(reasons[0].Code) == "None" && aws.ToString(reasons[1].Code) == "ConditionalCheckFailed"
}

// never returns a statement with a condition that holds for no item.
func (t *table) never(statement string, key map[string]types.AttributeValue) types.BatchStatementRequest {
	owner := quoted(t.attr.Owner)
	where := []string{owner + " IS MISSING", owner + " IS NOT MISSING"}
	var values []types.AttributeValue
	for name, value := range key {
		where, values = append(where, quoted(name)+" = ?"), append(values, value)
	}
	return types.BatchStatementRequest{Statement: aws.String(statement + " WHERE " + strings.Join(where, " AND ")), Parameters: values}
}

func (t *table) insert(item map[string]types.AttributeValue) types.ParameterizedStatement {
	var fields []string
	var values []types.AttributeValue
	for name, value := range item {
		fields, values = append(fields, "'"+strings.ReplaceAll(name, "'", "''")+"': ?"), append(values, value)
	}
	text := "INSERT INTO " + quoted(t.name) + " VALUE {" + strings.Join(fields, ", ") + "}"
	return types.ParameterizedStatement{Statement: &text, Parameters: values}
}

// quoted returns a name as PartiQL reads it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
