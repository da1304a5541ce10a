package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/otel"
	"github.com/lambda-once/once/internal/check"
)

const secret = "4111-1111"

var theKey = idempotent.Key{Scope: secret, ID: secret, Payload: secret}

// telemetry contains the data that a program's SDK would export.
type telemetry struct {
	*otel.Observer
	spans  *tracetest.SpanRecorder
	traces *trace.TracerProvider
	reader *metric.ManualReader
}

func observer(t *testing.T, options otel.Options) telemetry {
	t.Helper()
	o := telemetry{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	o.traces = trace.NewTracerProvider(trace.WithSpanProcessor(o.spans))
	options.TracerProvider, options.MeterProvider = o.traces, metric.NewMeterProvider(metric.WithReader(o.reader))
	var err error
	if o.Observer, err = otel.New(&options); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o telemetry) executor(t *testing.T, store driver.Store, config idempotent.Config) *idempotent.Executor {
	t.Helper()
	config.Observer = o
	x, err := idempotent.New("place-order", store, &config)
	check.Must(t, err)
	return x
}

// points are the values of a metric by its attributes, as text; of a
// histogram, its counts.
func (o telemetry) points(t *testing.T, name string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	check.Must(t, o.reader.Collect(t.Context(), &all))
	points := map[string]int64{}
	text := func(set attribute.Set) string {
		check.Lacks(t, fmt.Sprint(set.ToSlice()), secret, name, "quotes the request", set.ToSlice())
		return set.Encoded(attribute.DefaultEncoder())
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[text(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[text(p.Attributes)] = int64(p.Count)
				}
			}
		}
	}
	return points
}

func returns(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return secret, err }
}

func values(span trace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, kv := range span.Attributes() {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

func TestSpanOfACall(t *testing.T) {
	o := observer(t, otel.Options{Table: "idempotency", Trigger: "pubsub"})
	ctx, invocation := o.traces.Tracer("").Start(t.Context(), "invocation")
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "r-1", InvokedFunctionArn: "arn:f"})
	before := time.Now()
	x := o.executor(t, memory.New(0), idempotent.Config{})
	if _, err := idempotent.Do(ctx, x, theKey, returns(nil)); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	finished := o.spans.Ended()
	if len(finished) != 1 {
		t.Fatalf("%d spans", len(finished))
	}
	span := finished[0]
	if span.Name() != "idempotent place-order" || span.SpanKind() != oteltrace.SpanKindInternal || span.Parent().SpanID() != invocation.SpanContext().SpanID() {
		t.Errorf("%s, %v, under %v", span.Name(), span.SpanKind(), span.Parent())
	}
	if span.StartTime().Before(before) || !span.StartTime().Before(span.EndTime()) || span.EndTime().After(after) {
		t.Errorf("from %v to %v, of a call from %v to %v", span.StartTime(), span.EndTime(), before, after)
	}
	want := map[string]string{
		"once.operation": "place-order", "once.outcome": "executed", "once.attempt": "1", "once.round_trips": "2",
		"faas.trigger": "pubsub", "faas.invocation_id": "r-1", "aws.lambda.invoked_arn": "arn:f",
		"aws.dynamodb.table_names": `["idempotency"]`,
	}
	if got := values(span); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
}

// down is a store that cannot be claimed from.
type down struct {
	driver.Store
	err error
}

func (d down) Create(context.Context, driver.Record, time.Time, any) (driver.Record, bool, error) {
	return driver.Record{}, false, d.err
}

func TestStatusAndMetrics(t *testing.T) {
	failed := fmt.Errorf("%s: %w", secret, driver.ErrThrottled)
	done, refused, running := memory.New(0), memory.New(0), memory.New(0)
	quiet, err := idempotent.New("place-order", done, nil)
	check.Must(t, err)
	_, _ = idempotent.Do(t.Context(), quiet, theKey, returns(nil))
	other := theKey
	other.Payload = "another"
	late := theKey
	late.Issued = time.Now().Add(-48 * time.Hour) // twice the retention
	left := memory.New(0)
	id, err := theKey.RecordID("place-order")
	check.Must(t, err)
	check.Must(t, left.Put(driver.Record{
		ID: id, Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded, Expires: time.Now().Add(time.Hour), Began: driver.WholeMillis(time.Now().Add(-2 * time.Hour)),
	}))
	for _, c := range []struct {
		name               string
		store              driver.Store
		config             idempotent.Config
		key                idempotent.Key
		fn                 func(context.Context) (string, error)
		outcome, errorType string
		status             codes.Code
		storeErrors        string // the attributes of its point
	}{
		{"executed", memory.New(0), idempotent.Config{}, theKey, returns(nil), "executed", "", codes.Unset, ""},
		{"replayed", done, idempotent.Config{}, theKey, returns(nil), "replayed", "", codes.Unset, ""},
		{"mismatch", done, idempotent.Config{}, other, returns(nil), "mismatch", "*idempotent.KeyReusedError", codes.Unset, ""},
		{"expired", memory.New(0), idempotent.Config{RefuseLate: true}, late, returns(nil), "expired", "*idempotent.KeyExpiredError", codes.Error, ""},
		{"forgotten", left, idempotent.Config{ProviderMemory: time.Hour}, theKey, returns(nil), "forgotten", "*idempotent.KeyForgottenError", codes.Error, ""},
		{"released", memory.New(0), idempotent.Config{}, theKey, returns(errors.New(secret)), "released", "*errors.errorString", codes.Error, ""},
		{"failed", refused, idempotent.Config{}, theKey, returns(idempotent.Permanent(errors.New(secret))), "failed", "*errors.errorString", codes.Error, ""},
		{"failed again", refused, idempotent.Config{}, theKey, returns(nil), "replayed", "*idempotent.ReplayedError", codes.Unset, ""},
		{"throttled", down{memory.New(0), failed}, idempotent.Config{OnStoreError: idempotent.FailOpen}, theKey, returns(nil),
			"bypassed", "*idempotent.StoreError", codes.Error, "once.operation=place-order,once.throttled=true"},
		{"no table", down{memory.New(0), errors.New(secret)}, idempotent.Config{}, theKey, returns(nil),
			"failed", "*idempotent.StoreError", codes.Error, "once.operation=place-order,once.throttled=false"},
		{"conflict", running, idempotent.Config{}, theKey, nil, "conflict", "*idempotent.InProgressError", codes.Unset, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observer(t, otel.Options{})
			x := o.executor(t, c.store, c.config)
			if c.fn == nil {
				c.fn = func(context.Context) (string, error) {
					_, _ = idempotent.Do(t.Context(), x, c.key, returns(nil))
					return "", nil
				}
			}
			_, _ = idempotent.Do(t.Context(), x, c.key, c.fn)
			span := o.spans.Ended()[0]
			got := values(span)
			if got["once.outcome"] != c.outcome || got["error.type"] != c.errorType || span.Status().Code != c.status {
				t.Errorf("status %v of %v", span.Status(), got)
			}
			check.Lacks(t, fmt.Sprint(got, span.Status(), span.Events()), secret, "the span quotes the request", got, span.Status(), span.Events())
			point := "once.operation=place-order,once.outcome=" + c.outcome
			if o.points(t, "once.calls")[point] != 1 || o.points(t, "once.overhead")[point] != 1 {
				t.Errorf("calls %v, overhead %v", o.points(t, "once.calls"), o.points(t, "once.overhead"))
			}
			if points := o.points(t, "once.store.errors"); points[c.storeErrors] != int64(len(points)) || (c.storeErrors == "") != (len(points) == 0) {
				t.Errorf("errors of the store: %v", points)
			}
		})
	}
}

// A handler that was cut off counts by an outcome of its own, to be alarmed on.
func TestHandlerThatIsCutOffIsCounted(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	o := observer(t, otel.Options{})
	synctest.Test(t, func(t *testing.T) {
		x := o.executor(t, memory.New(0), idempotent.Config{})
		invocation, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, _ = idempotent.Do(invocation, x, theKey, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", fmt.Errorf("charge %s: %w", secret, ctx.Err())
		})
	})
	check.Equal(t, o.points(t, "once.calls")["once.operation=place-order,once.outcome=timed out"], 1, "calls", o.points(t, "once.calls"))
	span := o.spans.Ended()[0]
	if got := values(span); got["error.type"] != "*idempotent.TimedOutError" || span.Status().Code != codes.Error {
		t.Errorf("status %v of %v", span.Status(), got)
	}
}

// A crash leaves a lease that lapses, a retry after an error does not. A scope that finds
// no caller refuses every call, and only refused calls have a reason.
func TestMetricsOfSomeOutcomesAlone(t *testing.T) {
	for _, c := range []struct {
		name, metric, attribute, want string
		event                         idempotent.Event
	}{
		{"lapsed", "once.leases.lapsed", "once.lapsed", "map[once.operation=place-order:1] true",
			idempotent.Event{Outcome: idempotent.OutcomeTakeover, Lapsed: true}},
		{"released before", "once.leases.lapsed", "once.lapsed", "map[] ", idempotent.Event{Outcome: idempotent.OutcomeTakeover}},
		{"refused", "once.refusals", "once.refusal", "map[once.operation=place-order,once.refusal=unknown caller:1] unknown caller",
			idempotent.Event{Outcome: idempotent.OutcomeFailed, Err: &idempotent.MissingKeyError{Part: "scope"}}},
		{"failed", "once.refusals", "once.refusal", "map[] ", idempotent.Event{Outcome: idempotent.OutcomeFailed, Err: errors.New(secret)}},
	} {
		o := observer(t, otel.Options{})
		c.event.Operation = "place-order"
		o.Observe(t.Context(), c.event)
		check.Equal(t, fmt.Sprint(o.points(t, c.metric), " ", values(o.spans.Ended()[0])[c.attribute]), c.want, c.name)
	}
}

// A result that cannot be replayed needs a person.
func TestStatusOfAnUnavailableResult(t *testing.T) {
	o := observer(t, otel.Options{})
	x := o.executor(t, memory.New(0), idempotent.Config{})
	_, _ = idempotent.Do(t.Context(), x, theKey, returns(nil))
	_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (int, error) { return 0, nil })
	if span := o.spans.Ended()[1]; !errors.Is(err, idempotent.ErrResultUnavailable) || values(span)["once.outcome"] != "replayed" || span.Status().Code != codes.Error {
		t.Errorf("%v: %v, %v", err, span.Status(), values(span))
	}
}

// Overhead is in seconds, and its buckets are for milliseconds to seconds.
func TestOverhead(t *testing.T) {
	o := observer(t, otel.Options{})
	o.Observe(t.Context(), idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeExecuted, Total: time.Second, Handler: 994 * time.Millisecond})
	var all metricdata.ResourceMetrics
	check.Must(t, o.reader.Collect(t.Context(), &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		data, ok := m.Data.(metricdata.Histogram[float64])
		if !ok {
			continue
		}
		p := data.DataPoints[0]
		if i := slices.Index(p.BucketCounts, 1); m.Unit != "s" || p.Sum < 0.0059 || p.Sum > 0.0061 || p.Bounds[i] != 0.01 {
			t.Errorf("%s: %v", m.Unit, p)
		}
		return
	}
	t.Error("no histogram")
}

func TestConcurrentInvocations(t *testing.T) {
	o := observer(t, otel.Options{})
	x := o.executor(t, memory.New(0), idempotent.Config{})
	var tasks sync.WaitGroup
	for i := range 8 {
		tasks.Go(func() {
			for n := range 20 {
				_, _ = idempotent.Do(t.Context(), x, idempotent.Key{ID: fmt.Sprint(i, n)}, returns(nil))
			}
		})
	}
	tasks.Wait()
	if n := o.points(t, "once.calls")["once.operation=place-order,once.outcome=executed"]; n != 160 || len(o.spans.Ended()) != 160 {
		t.Errorf("%d calls, %d spans", n, len(o.spans.Ended()))
	}
}

func TestUnknownTrigger(t *testing.T) {
	if _, err := otel.New(&otel.Options{Trigger: "sqs"}); err == nil || !strings.Contains(err.Error(), "Trigger") {
		t.Errorf("got %v", err)
	}
	if _, err := otel.New(nil); err != nil {
		t.Error(err)
	}
}
