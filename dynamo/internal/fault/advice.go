package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Advice returns the next step after an error of DynamoDB or of the SDK, or "". The
// table's keys are named as its user expects them; sort is "" for none.
func Advice(err error, partition, sort string) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "the caller's context was cancelled"
	case noIdentity(err):
		return "no valid credentials; give the function a role, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer before the deadline; check the way to DynamoDB (in a VPC: its gateway endpoint) and the time that is left for the call"
	}
	code, message := Code(err)
	switch code {
	case "":
		return unansweredAdvice(err)
	case "ResourceNotFoundException", "TableNotFoundException":
		return "the table does not exist in this account and Region, or it is still being created; check its name and the Region, or create it"
	case "ResourceInUseException", "TableInUseException":
		return "the table is still being created or changed; wait until its status is ACTIVE"
	case "ValidationException":
		return validationAdvice(err, message, partition, sort)
	case "AccessDeniedException", "AccessDenied":
		return "access denied; grant the role dynamodb:PutItem, UpdateItem, DeleteItem and GetItem on the table, and the use of its KMS key if it has one"
	case "ExpiredTokenException", "ExpiredToken", "RequestExpired":
		return "the credentials have expired; renew them (on Lambda: do not copy them into variables of your own)"
	case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "SignatureDoesNotMatch",
		"IncompleteSignature", "IncompleteSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException":
		return "the credentials are not valid; check the access key, the Region and the clock of this machine"
	case "RequestTimeTooSkewed":
		return "the clock of this machine is wrong"
	case "ItemCollectionSizeLimitExceededException":
		return "all records of one partition key exceed 10 GB, which a local secondary index limits them to; remove the index, or use Options.Layout.Shards"
	}
	switch {
	case Throttled(err):
		return "throttled; raise the table's capacity or use on-demand, and with composite keys spread the records by Options.Layout.Shards"
	case Server(err):
		return "DynamoDB could not answer; try again"
	}
	return ""
}

func validationAdvice(err error, message, partition, sort string) string {
	switch {
	case KeySchema(message):
		if sort != "" {
			return fmt.Sprintf("the table's keys are others; the options expect the partition key %q and the sort key %q, both of type S", partition, sort)
		}
		return fmt.Sprintf("the table's keys are others; the options expect the partition key %q of type S and no sort key (for one, set Options.Layout.SortKey)", partition)
	case TooLarge(err):
		return "the item would exceed 400 KB; the results of steps count together"
	case NoMap(err):
		return "the record's steps are not a map"
	}
	return ""
}

// unansweredAdvice is for errors without a response of DynamoDB.
func unansweredAdvice(err error) string {
	message := err.Error()
	switch {
	case strings.Contains(message, "Missing Region") || strings.Contains(message, "AWS region is required"):
		return "no Region; set AWS_REGION"
	case Server(err):
		return "DynamoDB could not answer; try again"
	case Unavailable(err):
		return "DynamoDB could not be reached; check the network, the Region and AWS_ENDPOINT_URL_DYNAMODB"
	}
	return ""
}

// DeniedAction returns the action that a message of DynamoDB denies, such as
// dynamodb:PutItem, and the name of its table, as far as the message has them.
func DeniedAction(message string) (action, table string) {
	_, after, _ := strings.Cut(message, "not authorized to perform: ")
	action, rest, _ := strings.Cut(after, " ")
	if !strings.HasPrefix(action, "dynamodb:") {
		return "", ""
	}
	_, resource, _ := strings.Cut(rest, ":table/")
	table, _, _ = strings.Cut(resource, " ")
	return action, table
}
