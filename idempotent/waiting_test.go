package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// An adapter that holds other claims learns of a wait that they may prolong,
// and not of one that is over in a moment.
func TestAdapterLearnsOnceThatACallWaits(t *testing.T) {
	for name, test := range map[string]struct {
		config idempotent.Config
		runs   time.Duration
		want   int
	}{
		"for another process":                     {idempotent.Config{}, time.Minute, 1},
		"for another process, for a moment":       {idempotent.Config{}, time.Millisecond, 0},
		"for a call of its own process":           {idempotent.Config{Wait: time.Second}, time.Minute, 1},
		"for nothing, as the duplicate has ended": {idempotent.Config{}, 0, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &test.config)
			go func() {
				try(t.Context(), t, x, func(context.Context) (string, error) {
					time.Sleep(test.runs)
					return "done", nil
				}).succeeded()
			}()
			synctest.Wait()
			told := 0
			ctx := adapter.With(t.Context(), adapter.Wait(time.Hour), adapter.Waiting(func() { told++ }))
			try(ctx, t, x, mustNotRun(t)).returned("done")
			check.Equal(t, told, test.want)
		})
	}
}
