package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

// The code of docs/outbox-and-chains.md about chains. That about the outbox is in
// examples/relay and examples/checkout.

var errAgain = errors.New("again")

func sendOn(ctx context.Context, event []byte, request *http.Request) (map[string]string, []byte, error) {
	attributes := handlers.ChainAttributes(ctx, "reserve")      // for SQS and SNS
	detail, err := handlers.ChainDetail(ctx, "reserved", event) // for EventBridge
	httpapi.SetChainHeaders(ctx, request.Header, "charge")      // for HTTP
	return attributes, detail, err
}

// Whatever becomes of an attempt, the next one sends with the same keys.
func TestChainsPageOfKeysThatStay(t *testing.T) {
	x := mustPolicies(t)
	seen := map[string]int{}
	for range 2 {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "order"}, func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://charges.example.com", nil)
			if err != nil {
				return "", err
			}
			attributes, detail, err := sendOn(ctx, []byte(`{"order":9007199254740993}`), request)
			if err != nil {
				return "", err
			}
			var sent map[string]any
			if err := json.Unmarshal(detail, &sent); err != nil {
				return "", err
			}
			seen[attributes[handlers.ChainAttribute]]++
			seen[sent[handlers.ChainAttribute].(string)]++
			seen[request.Header.Get("Idempotency-Key")]++
			return "", errAgain
		})
		if err != errAgain {
			t.Fatal(err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("keys and how often they were used: %v", seen)
	}
	for key, n := range seen {
		if n != 2 || key == "" {
			t.Errorf("%q was used %d times", key, n)
		}
	}
}
