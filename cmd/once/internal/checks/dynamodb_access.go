package checks

import (
	"context"
	"errors"
	"strings"

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
	group    bool      // whether that may do what group commit calls, too
}

func (t *tableCheck) usable(ctx context.Context, id string) bool {
	of, usable := t.checkSettings(ctx)
	switch {
	case !usable:
		return false
	case t.function != nil:
		t.function.checkRole(ctx, of, t.Partitions(id), t.group, t.Findings)
		return true
	}
	return t.checkAccess(ctx, id)
}

// repair returns the repair of an error of the first call. With --function, a denial is that of
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
