package soak

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/lambda-once/once/local/wire"
)

// made returns an answer of DynamoDB with these headers, which the SDK checks.
func made(status int, body []byte) *wire.Response {
	h := http.Header{}
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("X-Amzn-Requestid", fmt.Sprintf("SOAK%048d", crc32.ChecksumIEEE(body)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	return &wire.Response{Status: status, Header: h, Body: body}
}

func exception(status int, kind, message string) *wire.Response {
	return made(status, fmt.Appendf(nil, `{"__type":%q,"message":%q}`, kind, message))
}

func internalError() *wire.Response {
	return exception(http.StatusInternalServerError, "com.amazonaws.dynamodb.v20120810#InternalServerError", "Internal server error")
}

const (
	exceededText  = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
	throttledText = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly."
)

// throttle returns one of the answers with which DynamoDB throttles a request. A
// transaction may be cancelled instead, for reasons of single items.
func throttle(operation string, request []byte, random *rand.Rand) *wire.Response {
	if operation == "TransactWriteItems" && random.IntN(2) == 0 {
		return cancelled(request, random)
	}
	switch random.IntN(3) {
	case 0:
		return exception(http.StatusBadRequest, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", exceededText)
	case 1:
		return exception(http.StatusBadRequest, "com.amazonaws.dynamodb.v20120810#ThrottlingException", throttledText)
	default:
		return exception(http.StatusBadRequest, "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded",
			"Throughput exceeds the current throughput limit for your account. Please contact AWS Support at https://aws.amazon.com/support request a limit increase")
	}
}

// reason is why DynamoDB cancelled a transaction, for one of its items.
type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

// cancelled returns the answer to a transaction with one item that is throttled or
// in another transaction.
func cancelled(request []byte, random *rand.Rand) *wire.Response {
	var in struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(request, &in); err != nil || len(in.TransactItems) == 0 {
		return internalError() // the server would say why
	}
	reasons, codes := make([]reason, len(in.TransactItems)), make([]string, len(in.TransactItems))
	culprit := random.IntN(len(reasons))
	for i := range reasons {
		reasons[i].Code = "None"
		if i == culprit {
			reasons[i] = []reason{
				{"ThrottlingError", throttledText},
				{"ProvisionedThroughputExceeded", exceededText},
				{"TransactionConflict", "Transaction is ongoing for the item"},
			}[random.IntN(3)]
		}
		codes[i] = reasons[i].Code
	}
	body, err := json.Marshal(map[string]any{
		"__type":              "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
	if err != nil {
		return internalError()
	}
	return made(http.StatusBadRequest, body)
}
