package idempotent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
)

type keyedRequest struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Amount int    `json:"amount"`
}

func requestID(r keyedRequest) string { return r.ID }

func requestTenant(r keyedRequest) string { return r.Tenant }

func missingPart(err error) string {
	if e := new(idempotent.MissingKeyError); errors.As(err, &e) {
		return e.Part
	}
	return ""
}

func TestField(t *testing.T) {
	key := idempotent.Field(requestID)
	if got, err := key(keyedRequest{ID: "[a"}); err != nil || got != (idempotent.Key{ID: "[a"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := key(keyedRequest{}); missingPart(err) != "id" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithPayload(t *testing.T) {
	key := idempotent.WithPayload(idempotent.Field(requestID), func(r keyedRequest) any { return r.Amount })
	if got, err := key(keyedRequest{ID: "a", Amount: 3}); err != nil || got != (idempotent.Key{ID: "a", Payload: 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := key(keyedRequest{Amount: 3}); missingPart(err) != "id" || got != (idempotent.Key{}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithScope(t *testing.T) {
	request := keyedRequest{ID: "a", Tenant: "t"}
	for name, scope := range map[string]func(keyedRequest) (idempotent.Key, error){
		"field": idempotent.Field(requestTenant), "path": keypath.Path[keyedRequest]("tenant"),
	} {
		key := idempotent.WithScope(idempotent.WithPayload(idempotent.Field(requestID), func(keyedRequest) any { return "p" }), scope)
		if got, err := key(request); err != nil || got != (idempotent.Key{ID: "a", Scope: "t", Payload: "p"}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if got, err := key(keyedRequest{ID: "a"}); missingPart(err) != "scope" || got != (idempotent.Key{}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if got, err := key(keyedRequest{Tenant: "t"}); missingPart(err) != "id" || got != (idempotent.Key{}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	empty := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{Record: "r"}, nil }
	if got, err := idempotent.WithScope(idempotent.Field(requestID), empty)(request); missingPart(err) != "scope" {
		t.Errorf("no ID: got %v, %v", got, err)
	}
	cause := errors.New("cause")
	broken := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{ID: "t"}, cause }
	if got, err := idempotent.WithScope(idempotent.Field(requestID), broken)(request); !errors.Is(err, cause) || got != (idempotent.Key{}) {
		t.Errorf("broken: got %v, %v", got, err)
	}
}

func TestWholePayload(t *testing.T) {
	want, err := idempotent.Fingerprint(json.RawMessage(`{"amount":1,"id":"a","tenant":""}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"tenant":"", "id":"\u0061", "amount":1.0}`)
	for name, got := range map[string]func() (idempotent.Key, error){
		"struct": func() (idempotent.Key, error) {
			return idempotent.WholePayload[keyedRequest]()(keyedRequest{ID: "a", Amount: 1})
		},
		"raw":   func() (idempotent.Key, error) { return idempotent.WholePayload[json.RawMessage]()(raw) },
		"bytes": func() (idempotent.Key, error) { return idempotent.WholePayload[[]byte]()(raw) },
	} {
		if key, err := got(); err != nil || key != (idempotent.Key{ID: want}) {
			t.Errorf("%s: got %v, %v; want %s", name, key, err, want)
		}
	}
	for _, request := range []any{nil, (*keyedRequest)(nil), "", []int{}, struct{}{}, json.RawMessage(" null ")} {
		if key, err := idempotent.WholePayload[any]()(request); missingPart(err) != "id" {
			t.Errorf("%v: got %v, %v", request, key, err)
		}
	}
	if key, err := idempotent.WholePayload[any]()(json.RawMessage(nil)); !errors.Is(err, idempotent.ErrInvalidPayload) {
		t.Errorf("no text: got %v, %v", key, err)
	}
}
