package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

type metrics struct {
	calls       metric.Int64Counter
	lapsed      metric.Int64Counter
	refusals    metric.Int64Counter
	storeErrors metric.Int64Counter
	overhead    metric.Float64Histogram
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	var errs []error
	counter := func(name, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit("{call}"), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	m := &metrics{
		calls:       counter("once.calls", "Calls, by outcome."),
		lapsed:      counter("once.leases.lapsed", "Calls that took over a lease that had lapsed."),
		refusals:    counter("once.refusals", "Calls that were refused because of their request, by reason."),
		storeErrors: counter("once.store.errors", "Calls that failed because of the store."),
	}
	var err error
	m.overhead, err = meter.Float64Histogram("once.overhead",
		metric.WithUnit("s"), metric.WithDescription("Time of a call outside its handler."),
		// The default boundaries are for milliseconds.
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10))
	return m, errors.Join(append(errs, err)...)
}

func (m *metrics) record(ctx context.Context, e idempotent.Event) {
	operation := operationKey.String(e.Operation)
	byOutcome := metric.WithAttributes(operation, outcomeKey.String(string(e.Outcome)))
	m.calls.Add(ctx, 1, byOutcome)
	m.overhead.Record(ctx, (e.Total - e.Handler).Seconds(), byOutcome)
	if e.Lapsed {
		m.lapsed.Add(ctx, 1, metric.WithAttributes(operation))
	}
	if refusal := e.Refusal(); refusal != "" {
		m.refusals.Add(ctx, 1, metric.WithAttributes(operation, refusalKey.String(string(refusal))))
	}
	if e.ErrorIs(idempotent.ErrStore) {
		m.storeErrors.Add(ctx, 1, metric.WithAttributes(operation, throttledKey.Bool(e.ErrorIs(driver.ErrThrottled))))
	}
}
