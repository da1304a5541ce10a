package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/durable.md. The durable functions answer as the SDK does.

type durableOrder struct {
	ID    string
	Cents int
}

func orderOf(o durableOrder) (idempotent.Key, error) {
	return idempotent.Key{ID: o.ID, Payload: o.Cents}, nil
}

func durablePayments(x *idempotent.Executor, service durablefunc.Service, next func(context.Context, []byte) ([]byte, error)) lambda.Handler {
	return durablefunc.Wrap(x, 24*time.Hour, orderOf, next, &durablefunc.Options{Service: service})
}

func refuseDuplicates(h lambda.Handler) durablefunc.Handler {
	return func(ctx context.Context, request []byte) ([]byte, error) {
		response, err := h.Invoke(ctx, request)
		if errors.Is(err, idempotent.ErrInProgress) {
			return []byte(`{"Status":"FAILED","Error":{"ErrorType":"InProgressError","ErrorMessage":"a duplicate"}}`), nil
		}
		return response, err
	}
}

// cardService counts the charges by their keys.
type cardService map[string]int

func (c cardService) charge(_ context.Context, key string, cents int) (string, error) {
	c[key] += cents
	return "receipt", nil
}

func chargeOnce(ctx context.Context, cards *idempotent.Executor, o durableOrder, card cardService) (string, error) {
	return idempotent.Do(durablefunc.InStep(ctx, "charge"), cards, idempotent.Key{ID: o.ID}, func(ctx context.Context) (string, error) {
		return card.charge(ctx, idempotent.DownstreamKey(ctx, "charge"), o.Cents)
	})
}

func durableRequest(execution string) []byte {
	request, _ := json.Marshal(map[string]any{
		"DurableExecutionArn": execution, "CheckpointToken": "token",
		"InitialExecutionState": map[string]any{"Operations": []any{map[string]any{
			"Id": "0", "Type": "EXECUTION", "Status": "STARTED", "StartTimestamp": time.Now().UnixMilli(),
			"ExecutionDetails": map[string]any{"InputPayload": `{"ID":"o-1","Cents":4200}`},
		}}},
	})
	return request
}

func TestDurablePageProtectsAFunction(t *testing.T) {
	store, card := memory.New(0), cardService{}
	executor := func(operation string) *idempotent.Executor {
		x, err := idempotent.New(operation, store, nil)
		check.Must(t, err)
		return x
	}
	cards, o := executor("charge-card"), durableOrder{"o-1", 4200}
	invocations, answer := 0, `{"Status":"PENDING"}`
	h := refuseDuplicates(durablePayments(executor("pay"), durableService{}, func(ctx context.Context, _ []byte) ([]byte, error) {
		invocations++
		if invocations == 1 { // later ones replay the step
			if _, err := card.charge(ctx, idempotent.DownstreamKey(ctx, "charge"), o.Cents); err != nil {
				return nil, err
			}
		}
		_, err := chargeOnce(ctx, cards, o, card)
		return []byte(answer), err
	}))
	invoke := func(execution string) string {
		response, err := h.Invoke(t.Context(), durableRequest(execution))
		var r struct{ Status string }
		if err != nil || json.Unmarshal(response, &r) != nil {
			t.Fatal(string(response), err)
		}
		return r.Status
	}
	check.Equal(t, invoke("first"), "PENDING")
	check.Equal(t, invoke("duplicate"), "FAILED")
	answer = `{"Status":"SUCCEEDED","Result":"\"receipt\""}`
	check.Equal(t, invoke("first"), "SUCCEEDED")
	check.Equal(t, invoke("late"), "SUCCEEDED")
	check.Equal(t, invocations, 2)
	total := 0
	for _, cents := range card {
		total += cents
	}
	check.Equal(t, len(card), 2)
	check.Equal(t, total, 2*4200)
}
