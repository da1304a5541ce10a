package soak

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/lambda-once/once/internal/wire"
)

// made returns an answer of DynamoDB with the headers that the SDK checks.
func made(status int, body any) *wire.Response {
	text := encode(body)
	sum := crc32.ChecksumIEEE(text)
	h := http.Header{}
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("X-Amzn-Requestid", fmt.Sprintf("SOAK%048d", sum))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(sum), 10))
	return &wire.Response{Status: status, Header: h, Body: text}
}

const namespace = "com.amazonaws.dynamodb.v20120810#"

func exception(status int, why reason) *wire.Response {
	return made(status, map[string]string{"__type": namespace + why.Code, "message": why.Message})
}

func internalError() *wire.Response { return exception(http.StatusInternalServerError, unknown) }

// reason is why DynamoDB refuses one item of a transaction, or one statement of a batch.
type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

// The texts of DynamoDB.
var (
	throttling = reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index. " +
		"DynamoDB is automatically scaling your table or index so please try again shortly."}
	exceeded = reason{"ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table was exceeded. " +
		"Consider increasing your provisioning level with the UpdateTable API."}
	limited = reason{"RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account. " +
		"Please contact AWS Support at https://aws.amazon.com/support request a limit increase"}
	conflict = reason{"TransactionConflict", "Transaction is ongoing for the item"}
	unknown  = reason{"InternalServerError", "Internal server error"}
)

// throttle returns one of the answers with which DynamoDB throttles a request. A
// transaction may be cancelled instead, for reasons of single items.
func throttle(operation string, request []byte, random *rand.Rand) *wire.Response {
	if operation == "TransactWriteItems" && random.IntN(2) == 0 {
		return cancelled(request, random)
	}
	return exception(http.StatusBadRequest, []reason{
		{exceeded.Code + "Exception", exceeded.Message}, {"ThrottlingException", throttling.Message}, limited,
	}[random.IntN(3)])
}

// cancelled returns the answer to a transaction with one item that is throttled or
// in another transaction.
func cancelled(request []byte, random *rand.Rand) *wire.Response {
	var in struct{ TransactItems []json.RawMessage }
	if err := json.Unmarshal(request, &in); err != nil || len(in.TransactItems) == 0 {
		return internalError() // the server would say why
	}
	var reasons []reason
	var codes []string
	culprit := random.IntN(len(in.TransactItems))
	for i := range in.TransactItems {
		why := reason{Code: "None"}
		if i == culprit {
			why = []reason{throttling, exceeded, conflict}[random.IntN(3)]
		}
		reasons, codes = append(reasons, why), append(codes, why.Code)
	}
	return made(http.StatusBadRequest, map[string]any{
		"__type":              namespace + "TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
}

// statementErrors are those with which DynamoDB refuses one statement of a batch and
// not the others. The SDK repeats none of them.
var statementErrors = []reason{throttling, exceeded, limited, conflict, unknown}

// refuseStatements refuses some statements of a batch, and sends the rest one by one.
// One that ends in an InternalServerError may have been applied.
func refuseStatements(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	var in map[string]any
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return r.Send() // the server says why
	}
	statements, _ := in["Statements"].([]any)
	var all []any
	for _, s := range statements {
		refusal := statementErrors[random.IntN(len(statementErrors))]
		refused := random.IntN(3) == 0
		var response any = map[string]reason{"Error": refusal}
		if !refused || refusal == unknown && random.IntN(2) == 0 {
			in["Statements"] = []any{s}
			out, a, err := resend(r, in)
			if out == nil {
				return a, err
			}
			if !refused {
				response = out["Responses"].([]any)[0]
			}
		}
		all = append(all, response)
	}
	return made(http.StatusOK, map[string]any{"Responses": all}), nil
}

// withholdKeys leaves keys of a BatchGetItem unread, and returns them as
// UnprocessedKeys. DynamoDB reads at least one, or refuses the whole.
func withholdKeys(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	var in struct{ RequestItems map[string]map[string]any }
	if err := json.Unmarshal(r.Body, &in); err != nil || len(in.RequestItems) != 1 {
		return r.Send()
	}
	withheld := map[string]map[string]any{}
	for name, table := range in.RequestItems {
		keys, _ := table["Keys"].([]any)
		if len(keys) < 2 {
			return r.Send()
		}
		first := 1 + random.IntN(len(keys)-1)
		withheld[name] = maps.Clone(table)
		withheld[name]["Keys"], table["Keys"] = keys[first:], keys[:first]
	}
	out, a, err := resend(r, in)
	if out == nil {
		return a, err
	}
	out["UnprocessedKeys"] = withheld
	return made(http.StatusOK, out), nil
}

// resend sends a request with a different body, and returns the decoded answer. Without a
// success, out is nil.
func resend(r *wire.Request, in any) (out map[string]any, a *wire.Response, err error) {
	r.Body = encode(in)
	if a, err = r.Send(); err != nil || a.Status != http.StatusOK {
		return nil, a, err
	}
	err = json.Unmarshal(a.Body, &out)
	return out, a, err
}
