package checks

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// A tableCheck checks a table of DynamoDB, and the permissions of the function's role or the
// caller.
type tableCheck struct {
	*store.Table
	*Findings
	resume   bool      // check the index of handlers.Resume
	function *Deployed // whose role is checked in place of the caller, or nil
}

func (t *tableCheck) usable(ctx context.Context, id string, group bool) bool {
	of, usable := t.checkSettings(ctx)
	if !usable {
		return false
	}
	if t.function != nil {
		t.function.checkRole(ctx, of, t.Partitions(id), group, t.Findings)
		return true
	}
	may := t.checkAccess(ctx, id)
	if group {
		t.checkGroupAccess(ctx, id)
	}
	return may
}

// repair says what to do about an error of the first call. With --function, a denial is that of
// the caller, and says nothing about the function.
func (t *tableCheck) repair(_ context.Context, err error) (Verdict, string) {
	switch {
	case err != nil && isOfKey(err.Error()):
		return Wrong, ToUseKey
	case errors.Is(err, driver.ErrDenied) && t.function != nil:
		return Warning, "grant the caller what once policy --for check prints, or give --read-only"
	case errors.Is(err, driver.ErrDenied):
		return Wrong, toGrant
	}
	return Wrong, ""
}

func isOfKey(message string) bool { return strings.Contains(strings.ToLower(message), "kms") }

// checkAccess tries the calls of a function, on a key without a record. Writes
// have a condition that never holds: DynamoDB checks permissions first.
// It reports whether all succeed.
func (t *tableCheck) checkAccess(ctx context.Context, id string) bool {
	key := t.Key(id)
	names := map[string]string{"#id": t.Attr.ID}
	never := "attribute_exists(#id) AND attribute_not_exists(#id)"
	_, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: key})
	may := t.access("dynamodb:GetItem", err)
	_, err = t.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Name, Item: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	may = t.access("dynamodb:PutItem", err) && may
	_, err = t.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &t.Name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	may = t.access("dynamodb:UpdateItem", err) && may
	_, err = t.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.Name, Key: key, ConditionExpression: &never, ExpressionAttributeNames: names})
	return t.access("dynamodb:DeleteItem", err) && may
}

const accessDenied = "AccessDeniedException"

const toGrant = "grant it to the role of the function: once policy prints the permissions; with a condition on the operation, give --operation"

const ToUseKey = "have the policies of the role and of the table's key allow it through DynamoDB: once policy --key prints the permissions; a condition on the encryption context must name this table and its account"

func (f *Findings) access(action string, err error) bool {
	var never *types.ConditionalCheckFailedException
	var api smithy.APIError
	switch {
	case err == nil, errors.As(err, &never):
		f.say(action, Fine, "the caller may", "")
		return true
	case !errors.As(err, &api):
		f.unreached("DynamoDB", action, err, seeDynamoDB)
	case api.ErrorCode() == accessDenied && isOfKey(api.ErrorMessage()):
		f.say(action, Wrong, api.ErrorMessage(), ToUseKey)
	case api.ErrorCode() == accessDenied:
		f.say(action, Wrong, api.ErrorMessage(), toGrant)
	default:
		f.say(action, Wrong, api.ErrorCode()+": "+api.ErrorMessage(), "")
	}
	return false
}

// checkGroupAccess tries the calls of a function with group commit, on keys
// without records.
func (t *tableCheck) checkGroupAccess(ctx context.Context, id string) {
	if strings.Contains(t.Name, ":") {
		t.say("group commit", Warning, "off: a function sends each write alone to a table that is given by its ARN", "give functions, and --table, its name")
		return
	}
	key, second := t.Key(id), t.Key(id+"-") // of the same operation
	_, err := t.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{t.Name: {Keys: []map[string]types.AttributeValue{key}}},
	})
	t.access("dynamodb:BatchGetItem", err)
	update := t.never("UPDATE "+quoted(t.Name)+" REMOVE "+quoted(t.Attr.Owner), key)
	t.access("dynamodb:PartiQLUpdate", t.runAlone(ctx, update))
	t.access("dynamodb:PartiQLDelete", t.runAlone(ctx, t.never("DELETE FROM "+quoted(t.Name), key)))
	_, err = t.Client.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{
		t.insert(second), {Statement: update.Statement, Parameters: update.Parameters},
	}})
	t.inserts(err)
}

// runAlone sends a batch of one statement, as group commit sends its batches. The
// error of a statement arrives in a successful response.
func (t *tableCheck) runAlone(ctx context.Context, statement types.BatchStatementRequest) error {
	out, err := t.Client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{statement}})
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
func (f *Findings) inserts(err error) {
	const action = "dynamodb:PartiQLInsert"
	var canceled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case errors.As(err, &canceled) && isCanceledByUpdate(canceled.CancellationReasons):
		f.say(action, Fine, "the caller may", "")
	case errors.As(err, &api) && api.ErrorCode() == accessDenied && strings.Contains(api.ErrorMessage(), "PartiQLUpdate"):
		f.say(action, Warning, "not known: it is tried together with an UPDATE, which the caller may not", "grant dynamodb:PartiQLUpdate, and check again")
	case errors.As(err, &api) && api.ErrorCode() != accessDenied:
		f.say(action, Warning, "not known: "+api.ErrorCode()+": "+api.ErrorMessage(), "")
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
func (t *tableCheck) never(statement string, key map[string]types.AttributeValue) types.BatchStatementRequest {
	owner := quoted(t.Attr.Owner)
	where := []string{owner + " IS MISSING", owner + " IS NOT MISSING"}
	var values []types.AttributeValue
	for name, value := range key {
		where, values = append(where, quoted(name)+" = ?"), append(values, value)
	}
	return types.BatchStatementRequest{Statement: aws.String(statement + " WHERE " + strings.Join(where, " AND ")), Parameters: values}
}

func (t *tableCheck) insert(item map[string]types.AttributeValue) types.ParameterizedStatement {
	var fields []string
	var values []types.AttributeValue
	for name, value := range item {
		fields, values = append(fields, "'"+strings.ReplaceAll(name, "'", "''")+"': ?"), append(values, value)
	}
	text := "INSERT INTO " + quoted(t.Name) + " VALUE {" + strings.Join(fields, ", ") + "}"
	return types.ParameterizedStatement{Statement: &text, Parameters: values}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
