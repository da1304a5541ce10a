package idempotent_test

import (
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/internal/canonical"
)

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
		if _, err := json.Marshal(benchValue); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalAndUnmarshal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		raw, err := json.Marshal(benchValue)
		if err != nil {
			b.Fatal(err)
		}
		var v benchPayment
		if err := json.Unmarshal(raw, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	raw, err := json.Marshal(benchValue)
	if err != nil {
		b.Fatal(err)
	}
	for name, payload := range map[string]any{
		"struct": benchValue, "struct with sorted keys": benchInOrder, "raw": json.RawMessage(raw), "bytes": raw,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := idempotent.Fingerprint(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for name, v := range map[string]any{"unsorted": benchValue, "sorted": benchInOrder} {
		raw, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 1024)
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := canonical.Append(dst, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPath(b *testing.B) {
	key := keypath.Path[benchPayment]("id")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := key(benchValue); err != nil {
			b.Fatal(err)
		}
	}
}
