package soak

import (
	"encoding/json"
	"fmt"
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

// refuseStatements refuses some statements of a batch inside an HTTP 200, and sends
// the rest. One that ends in an InternalServerError may have been applied.
func refuseStatements(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	var in map[string]json.RawMessage
	var statements, sent []json.RawMessage
	if err := json.Unmarshal(r.Body, &in); err != nil || json.Unmarshal(in["Statements"], &statements) != nil {
		return r.Send() // the server says what is wrong
	}
	refusals := make([]*reason, len(statements))
	applied := make([]bool, len(statements))
	for i, s := range statements {
		applied[i] = true
		if random.IntN(3) == 0 {
			refusals[i] = &statementErrors[random.IntN(len(statementErrors))]
			applied[i] = refusals[i].Code == "InternalServerError" && random.IntN(2) == 0
		}
		if applied[i] {
			sent = append(sent, s)
		}
	}
	var out struct{ Responses []json.RawMessage }
	if len(sent) > 0 {
		var err error
		if in["Statements"], err = json.Marshal(sent); err != nil {
			return nil, err
		}
		if r.Body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		a, err := r.Send()
		if err != nil || a.Status != http.StatusOK {
			return a, err
		}
		if err := json.Unmarshal(a.Body, &out); err != nil || len(out.Responses) != len(sent) {
			return nil, fmt.Errorf("soak: %d answers to %d statements: %v", len(out.Responses), len(sent), err)
		}
	}
	all := make([]any, len(statements))
	for i, next := 0, 0; i < len(all); i++ {
		if applied[i] {
			all[i] = out.Responses[next]
			next++
		}
		if refusals[i] != nil {
			all[i] = map[string]*reason{"Error": refusals[i]}
		}
	}
	body, err := json.Marshal(map[string]any{"Responses": all})
	return made(http.StatusOK, body), err
}

// withholdKeys leaves keys of a BatchGetItem unread, and returns them as
// UnprocessedKeys. DynamoDB reads at least one, or refuses the whole.
func withholdKeys(r *wire.Request, random *rand.Rand) (*wire.Response, error) {
	var in map[string]json.RawMessage
	var tables map[string]map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &in); err != nil || json.Unmarshal(in["RequestItems"], &tables) != nil || len(tables) != 1 {
		return r.Send()
	}
	var err error
	for name, table := range tables {
		var keys []json.RawMessage
		if err := json.Unmarshal(table["Keys"], &keys); err != nil || len(keys) < 2 {
			return r.Send()
		}
		first := 1 + random.IntN(len(keys)-1)
		withheld := map[string]json.RawMessage{}
		for option, value := range table {
			withheld[option] = value
		}
		if withheld["Keys"], err = json.Marshal(keys[first:]); err != nil {
			return nil, err
		}
		if table["Keys"], err = json.Marshal(keys[:first]); err != nil {
			return nil, err
		}
		if in["RequestItems"], err = json.Marshal(tables); err != nil {
			return nil, err
		}
		tables[name] = withheld
	}
	if r.Body, err = json.Marshal(in); err != nil {
		return nil, err
	}
	a, err := r.Send()
	if err != nil || a.Status != http.StatusOK {
		return a, err
	}
	var out map[string]any
	if err := json.Unmarshal(a.Body, &out); err != nil {
		return nil, fmt.Errorf("soak: %w", err)
	}
	out["UnprocessedKeys"] = tables
	body, err := json.Marshal(out)
	return made(http.StatusOK, body), err
}
