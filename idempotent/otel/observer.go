package otel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
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

// Attributes outside the semantic conventions. Their values are few, because
// metrics also have them; a key or its hash would have too many.
const (
	operationKey  = attribute.Key("once.operation")
	outcomeKey    = attribute.Key("once.outcome")
	attemptKey    = attribute.Key("once.attempt")
	lapsedKey     = attribute.Key("once.lapsed")
	refusalKey    = attribute.Key("once.refusal")
	roundTripsKey = attribute.Key("once.round_trips")
	throttledKey  = attribute.Key("once.throttled")
)

// attributes returns the attributes of every span.
func (o Options) attributes() (fixed []attribute.KeyValue, err error) {
	switch o.Trigger {
	case "":
	case "datasource", "http", "pubsub", "timer", "other":
		fixed = append(fixed, semconv.FaaSTriggerKey.String(o.Trigger))
	default:
		err = fmt.Errorf("otel: Options.Trigger is %q, want datasource, http, pubsub, timer or other", o.Trigger)
	}
	if o.Table != "" {
		fixed = append(fixed, semconv.AWSDynamoDBTableNames(o.Table))
	}
	return fixed, err
}

// ofInvocation returns the attributes of the invocation: this span may be the
// function's only one. It leaves out whether the start was cold, because the
// first invocation need not make a call.
func ofInvocation(ctx context.Context) []attribute.KeyValue {
	invocation, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return nil
	}
	return []attribute.KeyValue{
		semconv.FaaSInvocationID(invocation.AwsRequestID),
		semconv.AWSLambdaInvokedARN(invocation.InvokedFunctionArn),
	}
}

func ofCall(e idempotent.Event) []attribute.KeyValue {
	all := []attribute.KeyValue{
		operationKey.String(e.Operation),
		outcomeKey.String(string(e.Outcome)),
		attemptKey.Int64(e.Attempt),
		roundTripsKey.Int(e.RoundTrips),
	}
	if e.Lapsed {
		all = append(all, lapsedKey.Bool(true))
	}
	if refusal := e.Refusal(); refusal != "" {
		all = append(all, refusalKey.String(string(refusal)))
	}
	if e.Err != nil {
		all = append(all, semconv.ErrorTypeKey.String(e.ErrorType()))
	}
	return all
}

// failed reports whether the call failed. A conflict, a mismatch and a replay
// are results that a duplicate may expect.
func failed(e idempotent.Event) bool {
	switch e.Outcome {
	case idempotent.OutcomeConflict, idempotent.OutcomeMismatch:
		return false
	case idempotent.OutcomeReplayed, idempotent.OutcomeRepeated:
		return e.ErrorIs(idempotent.ErrResultUnavailable)
	}
	return e.Err != nil
}
