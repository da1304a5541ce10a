package main

import (
	"os"
	"testing"

	"github.com/lambda-once/once/redis/redislocal"
)

func TestMain(m *testing.M) { os.Exit(redislocal.Main(m, nil)) }

func TestRetryReturnsTheFirstReceipt(t *testing.T) {
	pay, err := handler(redislocal.NewClient(t))
	if err != nil {
		t.Fatal(err)
	}
	first, err := pay(t.Context(), payment{ID: "1", Amount: 30})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pay(t.Context(), payment{ID: "1", Amount: 30}); err != nil || again != first {
		t.Errorf("%q, %v, want %q", again, err, first)
	}
}
