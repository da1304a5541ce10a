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

// Options are the options of [New]. A field with its zero value has its default.
type Options struct {
	// MeterProvider provides the meter of the metrics. Default: the global one.
	MeterProvider metric.MeterProvider

	// Table is the name of the DynamoDB table with the records. It becomes the
	// attribute aws.dynamodb.table_names of every span. Default: none.
	Table string

	// TracerProvider provides the tracer of the spans. Default: the global one.
	TracerProvider trace.TracerProvider

	// Trigger is the kind of event that invokes the function: "datasource",
	// "http", "pubsub", "timer" or "other". It becomes the attribute
	// faas.trigger of every span. Default: none.
	Trigger string
}

// An Observer is an [idempotent.Observer] that records a span and metrics of
// every call. It is safe for concurrent use.
type Observer struct {
	tracer  trace.Tracer
	metrics *metrics
	fixed   []attribute.KeyValue
}

const scope = "github.com/lambda-once/once/idempotent/otel"

// New returns an Observer. If options is nil, all defaults apply.
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

// Observe records the span and the metrics of one call.
func (o *Observer) Observe(ctx context.Context, e idempotent.Event) {
	finished := time.Now()
	o.metrics.record(ctx, e)
	_, span := o.tracer.Start(ctx, "idempotent "+e.Operation,
		trace.WithTimestamp(finished.Add(-e.Total)),
		trace.WithAttributes(o.fixed...),
		trace.WithAttributes(ofInvocation(ctx)...),
		trace.WithAttributes(ofCall(e)...))
	if failed(e) {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(finished))
}
