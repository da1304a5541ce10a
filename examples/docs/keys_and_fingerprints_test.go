package docs_test

import (
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/keys-and-fingerprints.md.

func scoped() func(json.RawMessage) (idempotent.Key, error) {
	key := idempotent.WithScope(
		keypath.Path[json.RawMessage]("powertools_json(body).order.id"),
		keypath.Path[json.RawMessage]("requestContext.authorizer.jwt.claims.sub"),
	)
	return key
}

func stable(m handlers.SQSMessage[Order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.OrderID, Payload: m.Body.Quantity}, nil
}

func TestKeysPageOfAPartAsPayload(t *testing.T) {
	got, err := stable(handlers.SQSMessage[Order]{Body: Order{OrderID: "o", Quantity: 2}})
	check.Nil(t, err)
	check.Equal(t, got, idempotent.Key{ID: "o", Payload: 2})
}

// Two orders that a float64 cannot tell apart have two keys.
func TestKeysPageOfExactNumbers(t *testing.T) {
	event := func(id string) json.RawMessage {
		return json.RawMessage(`{"body":"{\"order\":{\"id\":` + id + `}}","requestContext":{"authorizer":{"jwt":{"claims":{"sub":"ada"}}}}}`)
	}
	one, err := scoped()(event("9007199254740992"))
	check.Must(t, err)
	other, err := scoped()(event("9007199254740993"))
	check.Must(t, err)
	check.Differ(t, one, other)
	check.Equal(t, one.Scope, "ada")
}
