package main

import (
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestSecondCallReturnsTheFirstReceipt(t *testing.T) {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, p := idempotent.Wrap(x, key, createPayment), payment{Customer: "ada", ID: "order-17", Amount: 990}
	first, err := handler(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := handler(t.Context(), p); err != nil || second != first {
		t.Errorf("got %v, %v, want %v", second, err, first)
	}
	p.Amount = 1
	if _, err := handler(t.Context(), p); !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("another amount: %v", err)
	}
}
