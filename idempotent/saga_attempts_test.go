package idempotent_test

import (
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// An undo that fails uses the attempt up like any error: with MaxAttempts used
// up nothing more is undone until an operator gives an attempt back.
func TestUndoingStopsWithTheLastAttempt(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
	tr := &trip{fails: map[string]error{"hotel": soldOut(), "not a flight": errCrash}}
	var unfinished *idempotent.CompensationError
	if _, _, err := do(t.Context(), x, tr.book); !errors.As(err, &unfinished) || unfinished.Step != "flight" {
		t.Fatal(err)
	}
	checkDone(t, tr, "flight", "hotel", "not a flight")
	delete(tr.fails, "not a flight")
	for range 2 {
		if _, _, err := do(t.Context(), x, tr.book); !errors.Is(err, idempotent.ErrOutcomeUnknown) {
			t.Errorf("without an attempt: %v", err)
		}
	}
	checkDone(t, tr)

	// What once release writes.
	record := stored(t, store)
	record.Refunds++
	if err := store.Put(record); err != nil {
		t.Fatal(err)
	}
	if _, _, err := do(t.Context(), x, tr.book); err == nil || errors.Is(err, idempotent.ErrOutcomeUnknown) {
		t.Errorf("with an attempt given back: %v", err)
	}
	checkDone(t, tr, "not a flight")
	if r := stored(t, store); r.Status != driver.Failed {
		t.Errorf("%+v", r)
	}
}
