package otel

import (
	"context"
	"errors"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/lambda-once/once/idempotent"
)

// Options are those of [New]. The zero value of each field is its default.
type Options struct {
	// MeterProvider makes the metrics. Default the global one.
	MeterProvider metric.MeterProvider

	// Table is the name of the DynamoDB table with the records, for the
	// attribute aws.dynamodb.table_names of every span. Default none.
	Table string

	// TracerProvider makes the spans. Default the global one.
	TracerProvider trace.TracerProvider

	// Trigger is what invokes the function, for the attribute faas.trigger of
	// every span: "datasource", "http", "pubsub", "timer" or "other". Default
	// none.
	Trigger string
}

// Observer is an [idempotent.Observer] that makes a span of every call, and
// counts it. It is safe for concurrent use.
type Observer struct {
	tracer  trace.Tracer
	metrics *metrics
	fixed   []attribute.KeyValue
}

const scope = "github.com/lambda-once/once/idempotent/otel"

// New makes an Observer. A nil options stands for all defaults.
func New(options *Options) (*Observer, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.MeterProvider == nil {
		o.MeterProvider = api.GetMeterProvider()
	}
	if o.TracerProvider == nil {
		o.TracerProvider = api.GetTracerProvider()
	}
	fixed, err := o.attributes()
	m, errMetrics := newMetrics(o.MeterProvider.Meter(scope))
	if err := errors.Join(err, errMetrics); err != nil {
		return nil, err
	}
	return &Observer{tracer: o.TracerProvider.Tracer(scope), metrics: m, fixed: fixed}, nil
}

// Observe makes the span and the measurements.
func (o *Observer) Observe(ctx context.Context, e idempotent.Event) {
	ended := time.Now()
	o.metrics.record(ctx, e)
	_, span := o.tracer.Start(ctx, "idempotent "+e.Operation,
		trace.WithTimestamp(ended.Add(-e.Total)),
		trace.WithAttributes(o.fixed...),
		trace.WithAttributes(ofInvocation(ctx)...),
		trace.WithAttributes(ofCall(e)...))
	if failed(e) {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(ended))
}
