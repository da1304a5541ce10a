package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// However a call ends, it leaves no goroutine: the bubble would not end.
func TestNoGoroutineIsLeft(t *testing.T) {
	for name, fn := range map[string]func(context.Context) (string, error){
		"success":   returns(""),
		"error":     failsWith(errors.New("try again")),
		"permanent": failsWith(idempotent.Permanent(errors.New("final"))),
		"panic":     func(context.Context) (string, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Minute})
				defer func() {
					if p := recover(); (p != nil) != (name == "panic") {
						t.Errorf("recovered %v", p)
					}
				}()
				_, event, err := do(t.Context(), x, fn)
				if (err == nil) != (name == "success") {
					t.Errorf("got %v, %+v", err, event)
				}
			})
		})
	}
}
