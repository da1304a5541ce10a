package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"

	"github.com/lambda-once/once/local/wire"
)

// refusePartly refuses a part of a batch inside an HTTP 200, and sends the rest.
func refusePartly(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	if r.Operation == "BatchGetItem" {
		return withholdKeys(r, random)
	}
	return refuseStatements(r, random)
}

// statementErrors are the codes with which DynamoDB refuses one statement of a
// batch and not the others. The SDK repeats none of them.
var statementErrors = []reason{
	{"ThrottlingError", throttledText},
	{"ProvisionedThroughputExceeded", exceededText},
	{"RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account."},
	{"TransactionConflict", "Transaction is ongoing for the item"},
	{"InternalServerError", "Internal server error"},
}

// refuseStatements refuses some statements of a batch. One that ends in an
// InternalServerError may have been applied.
func refuseStatements(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	var in map[string]any
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return r.Send() // the server says why
	}
	statements, _ := in["Statements"].([]any)
	all := make([]any, len(statements)) // the responses to the refused ones
	var sent []any
	var places []int // in all, of those that are sent
	for i, s := range statements {
		apply := true
		if random.IntN(3) == 0 {
			refusal := statementErrors[random.IntN(len(statementErrors))]
			all[i] = map[string]reason{"Error": refusal}
			apply = refusal.Code == "InternalServerError" && random.IntN(2) == 0
		}
		if apply {
			sent, places = append(sent, s), append(places, i)
		}
	}
	if in["Statements"] = sent; len(sent) > 0 {
		out, a, err := resend(r, in)
		if out == nil {
			return a, err
		}
		responses, _ := out["Responses"].([]any)
		if len(responses) != len(sent) {
			return nil, fmt.Errorf("soak: %d answers to %d statements", len(responses), len(sent))
		}
		for n, i := range places {
			if all[i] == nil {
				all[i] = responses[n]
			}
		}
	}
	body, err := json.Marshal(map[string]any{"Responses": all})
	return made(http.StatusOK, body), err
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
	body, err := json.Marshal(out)
	return made(http.StatusOK, body), err
}

// resend sends a request with another body, and returns the decoded answer. Without a
// success, out is nil.
func resend(r *wire.Request, in any) (out map[string]any, a *wire.Response, err error) {
	if r.Body, err = json.Marshal(in); err != nil {
		return nil, nil, err
	}
	if a, err = r.Send(); err != nil || a.Status != http.StatusOK {
		return nil, a, err
	}
	return out, a, json.Unmarshal(a.Body, &out)
}
