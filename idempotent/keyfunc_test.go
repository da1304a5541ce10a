package idempotent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/internal/check"
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
	got, err := key(keyedRequest{ID: "[a"})
	check.Nil(t, err)
	check.Equal(t, got, (idempotent.Key{ID: "[a"}))
	_, err = key(keyedRequest{})
	check.Equal(t, missingPart(err), "id")
}

func TestWithPayload(t *testing.T) {
	key := idempotent.WithPayload(idempotent.Field(requestID), func(r keyedRequest) any { return r.Amount })
	got, err := key(keyedRequest{ID: "a", Amount: 3})
	check.Nil(t, err)
	check.Equal(t, got, (idempotent.Key{ID: "a", Payload: 3}))
	got, err = key(keyedRequest{Amount: 3})
	check.Equal(t, missingPart(err), "id")
	check.Equal(t, got, (idempotent.Key{}))
}

func TestWithScope(t *testing.T) {
	request := keyedRequest{ID: "a", Tenant: "t"}
	for name, scope := range map[string]func(keyedRequest) (idempotent.Key, error){
		"field": idempotent.Field(requestTenant), "path": keypath.Path[keyedRequest]("tenant"),
	} {
		key := idempotent.WithScope(idempotent.WithPayload(idempotent.Field(requestID), func(keyedRequest) any { return "p" }), scope)
		got, err := key(request)
		check.Nil(t, err, name)
		check.Equal(t, got, (idempotent.Key{ID: "a", Scope: "t", Payload: "p"}), name)
		got, err = key(keyedRequest{ID: "a"})
		check.Equal(t, missingPart(err), "scope", name)
		check.Equal(t, got, (idempotent.Key{}), name)
		got, err = key(keyedRequest{Tenant: "t"})
		check.Equal(t, missingPart(err), "id", name)
		check.Equal(t, got, (idempotent.Key{}), name)
	}
	empty := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{Record: "r"}, nil }
	_, err := idempotent.WithScope(idempotent.Field(requestID), empty)(request)
	check.Equal(t, missingPart(err), "scope")
	cause := errors.New("cause")
	broken := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{ID: "t"}, cause }
	got, err := idempotent.WithScope(idempotent.Field(requestID), broken)(request)
	check.Is(t, err, cause)
	check.Equal(t, got, (idempotent.Key{}))
}

func TestWholePayload(t *testing.T) {
	want, err := idempotent.Fingerprint(json.RawMessage(`{"amount":1,"id":"a","tenant":""}`))
	check.Must(t, err)
	raw := []byte(`{"tenant":"", "id":"\u0061", "amount":1.0}`)
	for name, got := range map[string]func() (idempotent.Key, error){
		"struct": func() (idempotent.Key, error) {
			return idempotent.WholePayload[keyedRequest]()(keyedRequest{ID: "a", Amount: 1})
		},
		"raw":   func() (idempotent.Key, error) { return idempotent.WholePayload[json.RawMessage]()(raw) },
		"bytes": func() (idempotent.Key, error) { return idempotent.WholePayload[[]byte]()(raw) },
	} {
		key, err := got()
		check.Nil(t, err, name)
		check.Equal(t, key, (idempotent.Key{ID: want}), name)
	}
	for _, request := range []any{nil, (*keyedRequest)(nil), "", []int{}, struct{}{}, json.RawMessage(" null ")} {
		_, err := idempotent.WholePayload[any]()(request)
		check.Equal(t, missingPart(err), "id", request)
	}
	_, err = idempotent.WholePayload[any]()(json.RawMessage(nil))
	check.Is(t, err, idempotent.ErrInvalidPayload)
}
