package idempotent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

type payment struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Note     string `json:"note,omitempty"`
}

var aPayment = payment{ID: "pay_8e03978e", Customer: "cus_4711", Amount: 129900, Currency: "EUR", Note: "two tickets"}

func paymentKey(p payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

// duplicate returns a wrapped handler whose every call is a duplicate.
func duplicate(t testing.TB, config *idempotent.Config) func() {
	x, err := idempotent.New("create-payment", memory.New(0), config)
	check.Must(t, err)
	ran := false
	handler := idempotent.Wrap(x, paymentKey, func(_ context.Context, p payment) (payment, error) {
		check.False(t, ran, "a duplicate ran")
		ran = true
		return p, nil
	})
	call := func() {
		got, err := handler(t.Context(), aPayment)
		if err != nil || got != aPayment {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	call()
	return call
}

// yardstick is what any library has to do to a request and a stored result.
func yardstick(t testing.TB) {
	text, err := json.Marshal(aPayment)
	check.Must(t, err)
	var p payment
	check.Must(t, json.Unmarshal(text, &p))
}

func BenchmarkYardstick(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		yardstick(b)
	}
}

func BenchmarkDuplicate(b *testing.B) {
	call := duplicate(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

func BenchmarkDuplicateFromCache(b *testing.B) {
	call := duplicate(b, &idempotent.Config{CacheEntries: 10})
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

type benchAddress struct {
	City   string `json:"city"`
	Street string `json:"street"`
}

type benchPayment struct {
	ID       string       `json:"id"`
	Customer string       `json:"customer"`
	Amount   int64        `json:"amount"`
	Currency string       `json:"currency"`
	Rate     float64      `json:"rate"`
	Lines    []string     `json:"lines"`
	Address  benchAddress `json:"address"`
}

type benchSorted struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Customer string `json:"customer"`
	ID       string `json:"id"`
}

var (
	benchValue = benchPayment{
		ID: "pay_01J9ZQ", Customer: "cus_8812", Amount: 129900, Currency: "EUR", Rate: 1.0842,
		Lines: []string{"sku-1", "sku-2"}, Address: benchAddress{"Zürich", "Langstrasse 1"},
	}
	benchInOrder = benchSorted{129900, "EUR", "cus_8812", "pay_01J9ZQ"}
)

func BenchmarkMarshal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := json.Marshal(benchValue)
		check.Must(b, err)
	}
}

func BenchmarkMarshalAndUnmarshal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		raw, err := json.Marshal(benchValue)
		check.Must(b, err)
		var v benchPayment
		check.Must(b, json.Unmarshal(raw, &v))
	}
}

func BenchmarkFingerprint(b *testing.B) {
	raw, err := json.Marshal(benchValue)
	check.Must(b, err)
	for name, payload := range map[string]any{
		"struct": benchValue, "struct with sorted keys": benchInOrder, "raw": json.RawMessage(raw), "bytes": raw,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := idempotent.Fingerprint(payload)
				check.Must(b, err)
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for name, v := range map[string]any{"unsorted": benchValue, "sorted": benchInOrder} {
		raw, err := json.Marshal(v)
		check.Must(b, err)
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 1024)
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				_, err := canonical.Append(dst, raw)
				check.Must(b, err)
			}
		})
	}
}

func BenchmarkPath(b *testing.B) {
	key := keypath.Path[benchPayment]("id")
	b.ReportAllocs()
	for b.Loop() {
		_, err := key(benchValue)
		check.Must(b, err)
	}
}
