package idempotent

import (
	"encoding/json"
	"errors"
	"testing"
)

type keyedRequest struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Amount int    `json:"amount"`
}

func requestID(r keyedRequest) string     { return r.ID }
func requestTenant(r keyedRequest) string { return r.Tenant }

func missingPart(err error) string {
	if e := new(MissingKeyError); errors.As(err, &e) {
		return e.Part
	}
	return ""
}

func TestField(t *testing.T) {
	key := Field(requestID)
	if got, err := key(keyedRequest{ID: "[a"}); err != nil || got != (Key{ID: "[a"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := key(keyedRequest{}); missingPart(err) != "id" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithPayload(t *testing.T) {
	key := WithPayload(Field(requestID), func(r keyedRequest) any { return r.Amount })
	if got, err := key(keyedRequest{ID: "a", Amount: 3}); err != nil || got != (Key{ID: "a", Payload: 3}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := key(keyedRequest{Amount: 3}); missingPart(err) != "id" || got != (Key{}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithScope(t *testing.T) {
	request := keyedRequest{ID: "a", Tenant: "t"}
	for name, scope := range map[string]func(keyedRequest) (Key, error){
		"field": Field(requestTenant), "path": Path[keyedRequest]("tenant"),
	} {
		key := WithScope(WithPayload(Field(requestID), func(keyedRequest) any { return "p" }), scope)
		if got, err := key(request); err != nil || got != (Key{ID: "a", Scope: "t", Payload: "p"}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if got, err := key(keyedRequest{ID: "a"}); missingPart(err) != "scope" || got != (Key{}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if got, err := key(keyedRequest{Tenant: "t"}); missingPart(err) != "id" || got != (Key{}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	empty := func(keyedRequest) (Key, error) { return Key{Record: "r"}, nil }
	if got, err := WithScope(Field(requestID), empty)(request); missingPart(err) != "scope" {
		t.Errorf("no ID: got %v, %v", got, err)
	}
	cause := errors.New("cause")
	broken := func(keyedRequest) (Key, error) { return Key{ID: "t"}, cause }
	if got, err := WithScope(Field(requestID), broken)(request); !errors.Is(err, cause) || got != (Key{}) {
		t.Errorf("broken: got %v, %v", got, err)
	}
}

func TestWholePayload(t *testing.T) {
	want, err := Fingerprint(json.RawMessage(`{"amount":1,"id":"a","tenant":""}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"tenant":"", "id":"\u0061", "amount":1.0}`)
	for name, got := range map[string]func() (Key, error){
		"struct": func() (Key, error) { return WholePayload[keyedRequest]()(keyedRequest{ID: "a", Amount: 1}) },
		"raw":    func() (Key, error) { return WholePayload[json.RawMessage]()(raw) },
		"bytes":  func() (Key, error) { return WholePayload[[]byte]()(raw) },
	} {
		if key, err := got(); err != nil || key != (Key{ID: want}) {
			t.Errorf("%s: got %v, %v; want %s", name, key, err, want)
		}
	}
	for _, request := range []any{nil, (*keyedRequest)(nil), "", []int{}, struct{}{}, json.RawMessage(" null ")} {
		if key, err := WholePayload[any]()(request); missingPart(err) != "id" {
			t.Errorf("%v: got %v, %v", request, key, err)
		}
	}
	if key, err := WholePayload[any]()(json.RawMessage(nil)); !errors.Is(err, ErrInvalidPayload) {
		t.Errorf("no text: got %v, %v", key, err)
	}
}
