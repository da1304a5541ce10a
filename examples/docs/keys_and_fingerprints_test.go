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

// The statements of the page about fingerprints.
func TestKeysPageOfFingerprints(t *testing.T) {
	for _, c := range []struct {
		a, b  any
		equal bool
	}{
		{json.RawMessage(`{"a": 1, "b": 2}`), json.RawMessage(`{"b":2.0,"a":10e-1}`), true},
		{json.RawMessage("9007199254740993"), json.RawMessage("9007199254740992"), false},
		{[]byte(`{"a": 1}`), []byte(`{"a":1}`), false},
		{Order{OrderID: "o"}, json.RawMessage(`{"orderId": "o", "quantity": 0}`), true},
	} {
		a, err := idempotent.Fingerprint(c.a)
		check.Must(t, err)
		b, err := idempotent.Fingerprint(c.b)
		check.Must(t, err)
		check.Equal(t, a == b, c.equal, c.a, c.b)
	}
	for _, refused := range []any{json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`"\ud800"`), json.RawMessage("\"\xff\""), struct{ a int }{1}} {
		_, err := idempotent.Fingerprint(refused)
		check.Is(t, err, idempotent.ErrInvalidPayload, refused)
	}
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
