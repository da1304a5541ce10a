package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// adapted has the methods of an Executor for package adapter, which documents them.
type adapted struct{ *Executor }

// ForAdapters returns the methods that package adapter documents.
func (x *Executor) ForAdapters() options.Executor { return adapted{x} }

func (x adapted) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	return x.handlerDeadline(ctx, x.invocationEnd(ctx))
}

func (x adapted) ClaimsAhead() bool {
	return x.config.MaxAttempts == 0 && !x.config.Optimistic && !x.disabled
}

func (x adapted) Seals() bool { return x.config.Sealer != nil }

const longestExecution = 366 * 24 * time.Hour

func (x adapted) CheckExecutions(timeout time.Duration) error {
	var mistakes driver.Mistakes
	refuse := func(wrong bool, format string, args ...any) {
		mistakes.If(wrong, "idempotent: a durable function with "+format, args...)
	}
	_, isJSON := x.config.Codec.(JSON)
	refuse(timeout < time.Second || timeout > longestExecution,
		"an execution timeout of %v: it is that of the function's DurableConfig, 1 s to 366 days", timeout)
	refuse(!isJSON, "Config.Codec: its results are JSON texts of the service")
	refuse(x.config.Lease != 0, "Config.Lease: its claim lasts for the execution's timeout")
	refuse(x.config.OnStoreError == FailOpen, "OnStoreError FailOpen: without a claim, a duplicate runs during the first suspension")
	refuse(x.config.Optimistic, "Config.Optimistic: without a claim, every duplicate runs")
	refuse(x.config.Wait != 0, "Config.Wait: a suspension outlasts the invocation that would wait; the service retries in its place")
	return mistakes.Err()
}
