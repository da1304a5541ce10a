package dynamo

import (
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
	e := &TransactionError{Index: index, Code: aws.ToString(reason.Code), Err: err, message: aws.ToString(reason.Message)}
	failed := &Error{Op: opTransact, Table: s.table, Tables: r.tables, Err: e, notWritten: true}
	switch e.Code {
	case CodeConflict:
		failed.Advice = "another transaction is writing one of its items; try again"
	case codeThrottled, codeThroughput:
		failed.Advice = "throttled; raise the capacity of the tables in the transaction or use on-demand"
	case "ItemCollectionSizeLimitExceeded":
		failed.Advice = "all records of one partition key exceed 10 GB, which a local secondary index limits them to; remove the index, or use Options.Shards"
	}
	return failed
}

// failTransaction returns the error of a call without reasons.
func (s *Store) failTransaction(r *request, err error) error {
	if busy := (*types.TransactionInProgressException)(nil); errors.As(err, &busy) {
		// The SDK treats it as throttling, which it is not: an earlier try of this
		// request is being committed.
		return &Error{Op: opTransact, Table: s.table, Tables: r.tables,
			Err:    &TransactionError{Index: -1, Code: codeInProgress, Err: err},
			Advice: "the transaction is being committed; try again to learn its outcome",
		}
	}
	failed := &Error{Op: opTransact, Table: s.table, Tables: r.tables, Err: err, Advice: transactionAdvice(err), notWritten: refusedAsAWhole(err)}
	if failed.Advice == "" {
		failed.Advice = s.fail(opTransact, err).Advice
	}
	return failed
}

// refusedAsAWhole reports whether DynamoDB refused this request without reading
// the items. Such a response has the status 400 and a code. Another status may
// come from something on the way that has passed the request on. A token that is
// in use may be an earlier request's.
func refusedAsAWhole(err error) bool {
	switch code, _ := fault.Code(err); code {
	case "", "UnknownError" /* of the SDK */, "IdempotentParameterMismatchException":
		return false
	}
	return fault.Status(err) == http.StatusBadRequest && !fault.Server(err)
}

// transactionAdvice returns the advice for errors that mean something else when
// several tables are written, and "" for others.
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
	_, after, found := strings.Cut(message, "not authorized to perform: ")
	action, rest, _ := strings.Cut(after, " ")
	if !found || !strings.HasPrefix(action, "dynamodb:") {
		return "access denied; grant the role dynamodb:PutItem, UpdateItem, DeleteItem and ConditionCheckItem on the tables of the transaction, whichever of them it uses"
	}
	_, resource, found := strings.Cut(rest, ":table/")
	table, _, _ := strings.Cut(resource, " ")
	if !found || table == "" {
		return fmt.Sprintf("access denied; grant the role %s on the tables of the transaction", action)
	}
	return fmt.Sprintf("access denied; grant the role %s on the table %q", action, table)
}
