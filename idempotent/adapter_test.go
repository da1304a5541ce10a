package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// The deadline that an adapter is told is the one that the handler then has.
func TestHandlerDeadlineIsTheHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		function, disabled string
		config             idempotent.Config
		invocation, want   time.Duration // 0: no deadline
	}{
		"on Lambda":                {function: "f", invocation: 10 * time.Second, want: 9500 * time.Millisecond},
		"a Reserve":                {function: "f", config: idempotent.Config{Reserve: 2 * time.Second}, invocation: 10 * time.Second, want: 8 * time.Second},
		"disabled":                 {function: "f", disabled: "1", invocation: 10 * time.Second, want: 10 * time.Second},
		"on Lambda, no deadline":   {function: "f"},
		"elsewhere":                {invocation: 10 * time.Second, want: 10 * time.Second},
		"elsewhere, no deadline":   {},
		"a lease that is extended": {config: idempotent.Config{Lease: 2 * time.Second}, invocation: 10 * time.Second, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_LAMBDA_FUNCTION_NAME", c.function)
			t.Setenv("ONCE_DISABLED", c.disabled)
			synctest.Test(t, func(t *testing.T) {
				x := newExecutor(t, idempotent.NewMemory(0), &c.config)
				ctx, cancel := t.Context(), func() {}
				if c.invocation > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.invocation)
				}
				defer cancel()
				got, ok := x.HandlerDeadline(ctx)
				if ok != (c.want > 0) || ok && time.Until(got) != c.want {
					t.Errorf("got %v, %v; want %v", time.Until(got), ok, c.want)
				}
				_, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (int, error) {
					if has, limited := ctx.Deadline(); limited != ok || !has.Equal(got) {
						t.Errorf("the handler has %v, %v; want %v, %v", has, limited, got, ok)
					}
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSealsWithASealerAlone(t *testing.T) {
	if newExecutor(t, idempotent.NewMemory(0), nil).Seals() {
		t.Error("without a Sealer")
	}
	if !newExecutor(t, idempotent.NewMemory(0), &idempotent.Config{Sealer: struct{ idempotent.Sealer }{}}).Seals() {
		t.Error("with a Sealer")
	}
}
