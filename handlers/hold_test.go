package handlers_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A completion that waits is lost if a function ends the process. One that does so at each
// delivery must not repeat the others each time, or use up their attempts.
func TestCompletionsDoNotWaitWhereACrashCostsMore(t *testing.T) {
	for _, test := range []struct {
		name     string
		config   *idempotent.Config
		repeated bool
		waits    bool
	}{
		{"first attempts", nil, false, true},
		{"a second attempt", nil, true, false},
		{"limited attempts", &idempotent.Config{MaxAttempts: 3}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			waits := false
			began, completed := make(chan struct{}), make(chan struct{})
			records := memory.New(0)
			store := intercepted{records, func(ctx context.Context, c storeCall, call func() error) error {
				_, late := driver.Arrive(ctx)
				if c.change.Status == driver.Completed && !isClosed(completed) {
					waits = late != nil
					close(completed)
				}
				return call()
			}}
			handler := handlers.SQS(newExecutor(t, store, test.config), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				if m.Body.ID == "slow" {
					close(began)
					<-completed
				}
				<-began
				return nil
			}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
			slow, fast := message("m1", order{ID: "slow"}), message("m2", order{ID: "fast"})
			if test.repeated {
				crashed := driver.Record{ID: idOf(t, "slow"), Status: driver.InProgress, Owner: "crashed", Attempt: 1, Lease: time.UnixMilli(1), Expires: time.Now().Add(time.Hour)}
				_, _, err := records.Create(t.Context(), crashed, time.Time{}, nil)
				check.Must(t, err)
			}
			reports(t, t.Context(), handler, batch{slow, fast}, "")
			check.Equal(t, waits, test.waits)
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
