package idempotent_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/lambda-once/once/idempotent"
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

func TestWithPayload(t *testing.T) {
	key := idempotent.WithPayload(idempotent.Field(requestID), func(r keyedRequest) any { return r.Amount })
	got, err := key(keyedRequest{ID: "[a", Amount: 3})
	check.Nil(t, err)
	check.Equal(t, got, (idempotent.Key{ID: "[a", Payload: 3}))
	got, err = key(keyedRequest{Amount: 3})
	check.Equal(t, missingPart(err), "id")
	check.Equal(t, got, (idempotent.Key{}))
}

func TestWithScope(t *testing.T) {
	request := keyedRequest{ID: "a", Tenant: "t"}
	key := idempotent.WithScope(idempotent.WithPayload(idempotent.Field(requestID), func(keyedRequest) any { return "p" }), idempotent.Field(requestTenant))
	got, err := key(request)
	check.Nil(t, err)
	check.Equal(t, got, (idempotent.Key{ID: "a", Scope: "t", Payload: "p"}))
	for part, request := range map[string]keyedRequest{"scope": {ID: "a"}, "id": {Tenant: "t"}} {
		got, err = key(request)
		check.Equal(t, missingPart(err), part)
		check.Equal(t, got, (idempotent.Key{}), part)
	}
	empty := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{Record: "r"}, nil }
	_, err = idempotent.WithScope(idempotent.Field(requestID), empty)(request)
	check.Equal(t, missingPart(err), "scope")
	cause := errors.New("cause")
	broken := func(keyedRequest) (idempotent.Key, error) { return idempotent.Key{ID: "t"}, cause }
	got, err = idempotent.WithScope(idempotent.Field(requestID), broken)(request)
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

func TestFingerprint(t *testing.T) {
	type payment struct {
		ID     string  `json:"id"`
		Amount float64 `json:"amount"`
		Note   string  `json:"note,omitempty"`
	}
	const ofNull = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"
	for name, test := range map[string]struct {
		payload any
		want    string
	}{
		"nil":                   {nil, ""},
		"nil pointer":           {(*payment)(nil), ofNull},
		"null":                  {json.RawMessage(" null"), ofNull},
		"the bytes of null":     {[]byte("null"), ofNull},
		"no bytes":              {[]byte{}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"bytes as they are":     {[]byte(`{"amount": 1}`), hexDigest([]byte(`{"amount": 1}`))},
		"struct":                {payment{ID: "<p>", Amount: 1}, hexDigest([]byte(`{"amount":1,"id":"<p>"}`))},
		"pointer":               {&payment{ID: "<p>", Amount: 1}, hexDigest([]byte(`{"amount":1,"id":"<p>"}`))},
		"raw":                   {json.RawMessage(`{"id":"\u003Cp>", "amount":10e-1}`), hexDigest([]byte(`{"amount":1,"id":"<p>"}`))},
		"map":                   {map[string]any{"id": "<p>", "amount": json.Number("1.00")}, hexDigest([]byte(`{"amount":1,"id":"<p>"}`))},
		"a large integer":       {struct{ Cents int64 }{9007199254740993}, hexDigest([]byte(`{"Cents":9007199254740993}`))},
		"real U+FFFD":           {"a\ufffd", hexDigest([]byte("\"a\ufffd\""))},
		"escaped U+FFFD, raw":   {json.RawMessage(`"a\ufffd"`), hexDigest([]byte("\"a\ufffd\""))},
		"the text of an escape": {`\ufffd`, hexDigest([]byte(`"\\ufffd"`))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := idempotent.Fingerprint(test.payload)
			check.Nil(t, err)
			check.Equal(t, got, test.want)
		})
	}
}

type unexportedPayment struct {
	id     string
	amount int
}

// An empty JSON object is a payload like any other.
func TestFingerprintOfAnEmptyObject(t *testing.T) {
	type optional struct {
		Note string `json:"note,omitempty"`
	}
	type node struct {
		*node
		Note string `json:"note,omitempty"`
	}
	for name, payload := range map[string]any{
		"a map": map[string]int{}, "optional": optional{}, "a pointer": &optional{},
		"embedded": struct{ optional }{}, "embeds itself": node{node: &node{}}, "struct{}": struct{}{},
		"marshals itself": emptyJSON{hidden: 1}, "raw": json.RawMessage("{}"),
	} {
		got, err := idempotent.Fingerprint(payload)
		check.Nil(t, err, name)
		check.Equal(t, got, hexDigest([]byte("{}")), name)
	}
}

type emptyJSON struct{ hidden int }

func (e emptyJSON) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

func TestFingerprintRefuses(t *testing.T) {
	for name, payload := range map[string]any{
		"nil raw":                  json.RawMessage(nil),
		"empty raw":                json.RawMessage{},
		"invalid raw":              json.RawMessage(`{`),
		"duplicate key":            json.RawMessage(`{"a":1,"a":1}`),
		"channel":                  make(chan int),
		"function in a map":        map[string]any{"f": func() {}},
		"infinite":                 []float64{math.Inf(1)},
		"invalid UTF-8":            "a\xff",
		"invalid UTF-8, key":       map[string]int{"\xff": 1},
		"invalid UTF-8, raw part":  map[string]any{"a": json.RawMessage("\"\xff\"")},
		"escaped U+FFFD, raw part": map[string]any{"a": json.RawMessage(`"\ufffd"`)},
		"keys equal as text":       map[equalText]int{{1}: 1, {2}: 2},
		"no exported field":        unexportedPayment{id: "p", amount: 1},
		"pointer to that":          &unexportedPayment{id: "p", amount: 1},
		"that embedded":            struct{ unexportedPayment }{},
		"all fields left out": struct {
			ID string `json:"-"`
		}{"p"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := idempotent.Fingerprint(payload)
			check.Equal(t, got, "")
			check.As[*idempotent.InvalidPayloadError](t, err)
			check.Is(t, err, idempotent.ErrInvalidPayload)
		})
	}
	_, err := idempotent.Fingerprint(make(chan int))
	check.As[*json.UnsupportedTypeError](t, err, "does not name its cause")
	check.Says(t, err, "chan int")
}

// equalText is a map key whose values have one text.
type equalText [1]int

func (equalText) MarshalText() ([]byte, error) { return []byte("k"), nil }

type payment struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Note     string `json:"note,omitempty"`
}

var aPayment = payment{ID: "pay_8e03978e", Customer: "cus_4711", Amount: 129900, Currency: "EUR", Note: "two tickets"}

func TestFingerprintAllocations(t *testing.T) {
	payload := any(aPayment)
	base := testing.AllocsPerRun(200, func() {
		_, err := json.Marshal(payload)
		check.Must(t, err)
	})
	got := testing.AllocsPerRun(200, func() {
		_, err := idempotent.Fingerprint(payload)
		check.Must(t, err)
	})
	if got > base+6 { // 1, but for pools, which the race detector keeps emptying
		t.Errorf("%v allocations, and %v of them json.Marshal", got, base)
	}
}

func hexDigest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
