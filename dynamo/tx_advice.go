package dynamo

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
)

const opTransact = "TransactWriteItems"

// Codes of a [TransactionError] within an [Error], which is unavailable.
const (
	codeInProgress = "TransactionInProgress" // of DynamoDB's exception, for the whole transaction
	codeThrottled  = "ThrottlingError"
	codeThroughput = "ProvisionedThroughputExceeded"
)

// failReason returns the error of a cancellation that the next try may not meet.
func (s *Store) failReason(r *request, index int, reason types.CancellationReason, err error) error {
	code, advice := aws.ToString(reason.Code), ""
	switch code {
	case CodeConflict:
		advice = "another transaction is writing one of its items; try again"
	case codeThrottled, codeThroughput:
		advice = "throttled; raise the capacity of the tables in the transaction or use on-demand"
	case "ItemCollectionSizeLimitExceeded":
		advice = "all records of one partition key exceed 10 GB, which a local secondary index limits them to; remove the index, or use Options.Layout.Shards"
	}
	return &Error{Op: opTransact, Table: s.table, Tables: r.tables, Advice: advice, notWritten: true,
		Err: &TransactionError{Index: index, Code: code, Err: err, message: aws.ToString(reason.Message)}}
}

// failTransaction returns the error of a call without reasons.
func (s *Store) failTransaction(r *request, err error) error {
	failed := s.fail(opTransact, err)
	failed.Tables, failed.notWritten = r.tables, refusedAsAWhole(err)
	failed.Advice = cmp.Or(transactionAdvice(err), failed.Advice)
	if busy := (*types.TransactionInProgressException)(nil); errors.As(err, &busy) {
		// The SDK treats it as throttling, which it is not: an earlier try of this
		// request is being committed.
		failed.Err, failed.notWritten = &TransactionError{Index: -1, Code: codeInProgress, Err: err}, false
		failed.Advice = "the transaction is being committed; try again to learn its outcome"
	}
	return failed
}

// refusedAsAWhole reports whether DynamoDB refused this request without reading
// the items. Such a response has the status 400 and a code. A different status may
// come from a proxy that has passed the request on. A token that is in use may be an
// earlier request's.
func refusedAsAWhole(err error) bool {
	switch code, _ := fault.Code(err); code {
	case "", "UnknownError" /* of the SDK */, "IdempotentParameterMismatchException":
		return false
	}
	return fault.Status(err) == http.StatusBadRequest && !fault.Server(err)
}

// transactionAdvice returns the advice for errors that have a special meaning when
// several tables are written, or "".
func transactionAdvice(err error) string {
	code, message := fault.Code(err)
	switch code {
	case "AccessDeniedException", "AccessDenied":
		return deniedAdvice(message)
	case "ResourceNotFoundException", "TableNotFoundException":
		return "one of these tables does not exist in this account and Region: correct its name in the function's configuration, or create it"
	case "ValidationException":
		switch {
		case strings.Contains(message, "multiple operations on one item"):
			return "two additions have the same key; make one write of the two, with both conditions"
		case fault.KeySchema(message):
			return "the key of an addition, or of the records, is not that of its table; check the names and types of key attributes"
		case fault.TooLarge(err):
			return "an item would exceed 400 KB"
		}
	case "IdempotentParameterMismatchException":
		return "a request was changed under its token; do not change the arguments of Tx.Put and Tx.Add"
	}
	return ""
}

// deniedAdvice names the missing permission if DynamoDB does.
func deniedAdvice(message string) string {
	action, table := fault.DeniedAction(message)
	switch {
	case action == "":
		return "access denied; grant the role dynamodb:PutItem, UpdateItem, DeleteItem and ConditionCheckItem on the tables of the transaction, whichever of them it uses"
	case table == "":
		return fmt.Sprintf("access denied; grant the role %s on the tables of the transaction", action)
	}
	return fmt.Sprintf("access denied; grant the role %s on the table %q", action, table)
}
