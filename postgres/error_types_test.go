package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
)

// Step Functions match the name of a type, so that each error that leaves has
// one. Where an error is made that has none, something else wraps it.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	check.Must(t, err)
	const lost = "Store.commit returns it as a failed condition"
	for _, fault := range walked.Unexplained(map[string]string{
		"decodeSteps": "Store.fail makes it an Error", "decodeText": "Store.fail makes it an Error", "scan": "Store.fail makes it an Error",
		"layout.check":     "CreateTable makes it an Error",
		"layout.checkSize": "Store.refused makes it an Error", "layout.checkRequest": "Store.refused makes it an Error",
		"collected.commit": "Store.refused or Store.fail makes it an Error, or it is the Err of a TransactionError",
		"openTx.commit":    "as of collected.commit; " + lost,
		"openTx.landed":    "as of openTx.commit",
		"batch.send":       "batch.notWritten makes it an Error; " + lost,
		"batch.read":       "batch.refused makes it a TransactionError",
		"checkRewriters":   "it is the Err of a TransactionError", "refusal": "it is the Err of a TransactionError",

		"Store.Apply": "Store.refused makes it an Error",
		"Store.Sweep": "Store.fail makes it an Error",
		"Store.write": "Store.fail makes it an Error",
	}) {
		t.Error(fault)
	}
}

func TestRefusalsHaveExportedTypes(t *testing.T) {
	s, err := New(likeDSQL{}, table, nil) // panics if anything is sent
	check.Must(t, err)
	ctx := context.Background()
	change := func(c driver.Change) error {
		_, _, err := s.Change(ctx, driver.Fence{ID: "1", Owner: owner}, c)
		return err
	}
	for name, refuse := range map[string]func() error{
		"Get without an id":     func() error { _, err := s.Get(ctx, ""); return err },
		"Create without an id":  func() error { _, _, err := s.Create(ctx, claim("", owner), time.Time{}, nil); return err },
		"Create with something": func() error { _, _, err := s.Create(ctx, claim("1", owner), time.Time{}, 1); return err },
		"Change of nothing":     func() error { return change(driver.Change{}) },
		"Change with something": func() error { return change(driver.Change{Status: driver.Completed, With: 1}) },
	} {
		refused, ok := refuse().(*Error)
		var invalid *driver.InvalidWriteError
		if !ok || refused.Op == "" || !errors.As(refused, &invalid) || errors.Is(refused, driver.ErrUnavailable) {
			t.Errorf("%s: %T: %v", name, refuse(), refuse())
		}
	}
}
