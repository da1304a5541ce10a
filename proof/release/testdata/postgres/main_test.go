package main

import (
	"os"
	"testing"

	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }

func TestRetryReturnsTheFirstBalance(t *testing.T) {
	url := postgreslocal.NewDatabase(t)
	statements, err := postgres.SQL("idempotency", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgreslocal.Run(t.Context(), url, append(statements, "CREATE TABLE account AS SELECT 100 AS balance")...); err != nil {
		t.Fatal(err)
	}
	pay, err := handler(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if balance, err := pay(t.Context(), payment{ID: "1", Amount: 30}); err != nil || balance != 70 {
			t.Errorf("%d, %v", balance, err)
		}
	}
}
