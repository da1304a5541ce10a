package idempotent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
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

func BenchmarkFingerprint(b *testing.B) {
	raw, err := json.Marshal(aPayment)
	check.Must(b, err)
	for name, payload := range map[string]any{"struct": aPayment, "raw": json.RawMessage(raw), "bytes": raw} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := idempotent.Fingerprint(payload)
				check.Must(b, err)
			}
		})
	}
}

func BenchmarkPath(b *testing.B) {
	key := keypath.Path[payment]("id")
	b.ReportAllocs()
	for b.Loop() {
		_, err := key(aPayment)
		check.Must(b, err)
	}
}
