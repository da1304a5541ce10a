package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// The code of docs/powertools.md.

type charged struct {
	Charge string `json:"charge"`
}

func charge(_ context.Context, event json.RawMessage) (charged, error) {
	var order struct {
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
	}
	if err := json.Unmarshal(event, &order); err != nil {
		return charged{}, err
	}
	return charged{Charge: fmt.Sprint(order.Amount, " ", order.Currency)}, nil
}

func counterpartOfTypeScript(store powertools.Table) (func(context.Context, json.RawMessage) (charged, error), error) {
	x, err := powertools.NewExecutor("charge", store, powertools.TypeScript, &idempotent.Config{Retention: time.Hour})
	if err != nil {
		return nil, err
	}
	key := powertools.Key[json.RawMessage](powertools.TypeScript, "payments", "orderId", &powertools.Options{
		Validation: "[amount, currency]",
	})
	return idempotent.Wrap(x, key, charge), nil
}

func counterpartOfPython(store powertools.Table) (func(context.Context, json.RawMessage) (charged, error), error) {
	x, err := powertools.NewExecutor("charge", store, powertools.Python, &idempotent.Config{Retention: time.Hour})
	if err != nil {
		return nil, err
	}
	key := powertools.Key[json.RawMessage](powertools.Python, "payments.app.lambda_handler", "orderId", &powertools.Options{
		Validation: "[amount, currency]",
	})
	return idempotent.Wrap(x, key, charge), nil
}

// Each counterpart writes the record of its library, with its digests.
func TestCounterpartsWriteTheRecordsOfTheirLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		counterpart         func(powertools.Table) (func(context.Context, json.RawMessage) (charged, error), error)
		record, fingerprint string
	}{
		"TypeScript": {counterpartOfTypeScript, "payments#69n0x7BssKr10T2A5J2LkA==", "VOmgOBo2NxvSA1bHhaFmRA=="},
		"Python":     {counterpartOfPython, "payments.app.lambda_handler#ebd9f4c7b06cb0aaf5d13d80e49d8b90", "84c2e10a135ca08604ee1b8d6c365ed7"},
	} {
		t.Run(name, func(t *testing.T) {
			client, table := dynamodblocal.NewTable(t)
			t.Setenv(dynamoenv.TableVariable, table)
			store, err := dynamoenv.Open(t.Context(), &dynamoenv.Options{Client: client})
			check.Must(t, err)
			handler, err := c.counterpart(store)
			check.Must(t, err)
			_, err = handler(t.Context(), json.RawMessage(`{"orderId":"abc","amount":1,"currency":"EUR"}`))
			check.Must(t, err)
			got, err := store.Get(t.Context(), c.record)
			check.Nil(t, err)
			check.Equal(t, got.Fingerprint, c.fingerprint, "stored")
		})
	}
}
