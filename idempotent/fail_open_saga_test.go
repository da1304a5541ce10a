package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The take-over landed, and its answer was lost.
func TestFailedOpenCallDoesNotFinishAHalfUndoneSaga(t *testing.T) {
	store := memory.New(0)
	charged, refuse, succeed := 0, 1, false
	run := func(ctx context.Context) (string, error) {
		for _, name := range []string{"a", "b"} {
			if _, err := idempotent.SagaStep(ctx, name, func(context.Context) (string, error) { charged++; return name, nil }, func(_ context.Context, n string) error {
				if n == "a" && refuse > 0 {
					refuse--
					return errors.New("not now")
				}
				charged--
				return nil
			}); err != nil {
				return "", err
			}
		}
		if succeed {
			return "done", nil
		}
		return "", soldOut()
	}
	config := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	for _, fails := range []bool{true, false} {
		succeed = !fails
		p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			r, ok, err := next()
			if !fails && c.Owner != "" && c.Status == "" {
				return driver.Record{}, false, errNetwork
			}
			return r, ok, err
		}}
		if value, _, err := do(t.Context(), newExecutor(t, p, config), run); err == nil {
			t.Errorf("%q", value)
		}
	}
	if _, _, err := do(t.Context(), newExecutor(t, store, config), run); !errors.Is(err, idempotent.ErrReplayed) {
		t.Error(err)
	}
	if r := stored(t, store); charged != 0 || r.Status != driver.Failed {
		t.Errorf("charged %d, %s", charged, r.Status)
	}
}
