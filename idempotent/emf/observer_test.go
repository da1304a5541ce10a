package emf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

const secret = "4111-1111"

var theKey = idempotent.Key{Scope: secret, ID: secret, Payload: secret}

// down is a store that fails the calls that have an error.
type down struct {
	driver.Store
	create, change error
}

func (d *down) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	if d.create != nil {
		return driver.Record{}, false, d.create
	}
	return d.Store.Create(ctx, r, over, with)
}

func (d *down) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if d.change != nil {
		return driver.Record{}, false, d.change
	}
	return d.Store.Change(ctx, f, c)
}

func observer(t testing.TB, options *emf.Options) *emf.Observer {
	t.Helper()
	o, err := emf.New(options)
	check.Must(t, err)
	return o
}

// observed is the line of one call.
func observed(t *testing.T, store driver.Store, config idempotent.Config, fn func(context.Context) (string, error)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	config.Observer = observer(t, &emf.Options{Writer: &out})
	x, err := idempotent.New("create-payment", store, &config)
	check.Must(t, err)
	_, _ = idempotent.Do(t.Context(), x, theKey, fn)
	check.Lacks(t, out.String(), secret, "the line has what is in the request")
	return document(t, out.Bytes())
}

func returns(context.Context) (string, error) { return secret, nil }

func TestWhatALineSays(t *testing.T) {
	throttled := fmt.Errorf("slow down, %s: %w", secret, driver.ErrThrottled)
	failing := func(err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return "", err }
	}
	done := memory.New(0)
	observed(t, done, idempotent.Config{}, returns)
	for name, c := range map[string]struct {
		store  driver.Store
		config idempotent.Config
		fn     func(context.Context) (string, error)
		want   map[string]any
	}{
		"executed": {memory.New(0), idempotent.Config{}, returns,
			map[string]any{"outcome": "executed", "RoundTrips": 2., "attempt": 1., "error": nil}},
		"replayed": {done, idempotent.Config{}, returns,
			map[string]any{"outcome": "replayed", "RoundTrips": 1., "attempt": 0., "handler_ms": 0., "error": nil}},
		"released": {memory.New(0), idempotent.Config{}, failing(errors.New(secret)),
			map[string]any{"outcome": "released", "error": "*errors.errorString"}},
		"throttled": {&down{memory.New(0), throttled, throttled}, idempotent.Config{}, returns,
			map[string]any{"outcome": "failed", "StoreErrors": 1., "StoreThrottles": 1., "error": "*idempotent.StoreError"}},
		"unavailable": {&down{memory.New(0), driver.ErrUnavailable, nil}, idempotent.Config{}, returns,
			map[string]any{"outcome": "failed", "StoreErrors": 1.}},
		"failed open": {&down{memory.New(0), throttled, nil}, idempotent.Config{OnStoreError: idempotent.FailOpen}, returns,
			map[string]any{"outcome": "bypassed", "StoreErrors": 1., "StoreThrottles": 1.}},
		"not released": {&down{memory.New(0), nil, driver.ErrUnavailable}, idempotent.Config{}, failing(errors.New(secret)),
			map[string]any{"outcome": "unknown", "StoreErrors": 1.}},
		"a throttled table of the handler's": {memory.New(0), idempotent.Config{}, failing(throttled),
			map[string]any{"outcome": "released"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := time.Now().UnixMilli()
			got := observed(t, c.store, c.config, c.fn)
			want := map[string]any{"operation": "create-payment", "Calls": 1., "LapsedLeases": 0., "Refused": 0., "reason": nil, "StoreErrors": 0., "StoreThrottles": 0.}
			for member, value := range c.want {
				want[member] = value
			}
			for member, value := range want {
				check.Equal(t, got[member], value)
			}
			hash, _ := got["key_hash"].(string)
			check.Equal(t, len(hash), 64)
			at := int64(got["_aws"].(map[string]any)["Timestamp"].(float64))
			check.True(t, at >= before, at)
			check.True(t, at <= time.Now().UnixMilli(), at)
		})
	}
}

// A crash behind the effect leaves a lease that lapses. A retry after an error is no
// sign of one, and both have the outcome takeover.
func TestTakeoverOfALapsedLeaseIsCountedApart(t *testing.T) {
	for lapsed, lease := range map[bool]time.Time{true: time.Now().Add(-time.Hour), false: driver.LeaseEnded} {
		store := memory.New(0)
		id, err := theKey.RecordID("create-payment")
		check.Must(t, err)
		check.Must(t, store.Put(driver.Record{ID: id, Status: driver.InProgress, Attempt: 1, Lease: lease, Expires: time.Now().Add(time.Hour)}))
		got := observed(t, store, idempotent.Config{}, returns)
		if want := map[bool]float64{true: 1}[lapsed]; got["LapsedLeases"] != want || got["outcome"] != "takeover" {
			t.Errorf("lapsed %v: %v of %v", lapsed, got["LapsedLeases"], got["outcome"])
		}
	}
}

func refused(err error) idempotent.Event {
	return idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeFailed, Err: err}
}

// A scope that finds nobody refuses every call. Only refused calls have a reason.
func TestRefusedCallsAreCountedByReason(t *testing.T) {
	for reason, err := range map[string]error{
		"missing key":    &idempotent.MissingKeyError{Part: "id"},
		"unknown caller": &idempotent.MissingKeyError{Part: "scope"},
		"invalid key":    &idempotent.InvalidKeyError{Part: "ID"},
		"unreadable":     &idempotent.InvalidPayloadError{},
		"":               errors.New(secret),
	} {
		var out bytes.Buffer
		observer(t, &emf.Options{Writer: &out}).Observe(t.Context(), refused(err))
		got := document(t, out.Bytes())
		want, declared := 1., 3
		if reason == "" {
			want, declared = 0, 2
		}
		if text, _ := got["reason"].(string); got["Refused"] != want || text != reason {
			t.Errorf("%q: %s", reason, out.Bytes())
		}
		directives := got["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)
		check.Equal(t, len(directives), declared, reason)
		if reason != "" {
			check.Equal(t, fmt.Sprint(directives[2].(map[string]any)["Dimensions"]), "[[operation reason]]")
		}
	}
}

// Overhead is the time of a call outside its handler.
func TestDurations(t *testing.T) {
	var out bytes.Buffer
	observer(t, &emf.Options{Writer: &out}).Observe(t.Context(), idempotent.Event{
		Operation: "op", Outcome: idempotent.OutcomeExecuted, Total: 1250 * time.Millisecond, Handler: 1243500 * time.Microsecond,
	})
	if got := document(t, out.Bytes()); got["Overhead"] != 6.5 || got["handler_ms"] != 1243.5 {
		t.Errorf("%s", out.Bytes())
	}
}

// Each round writes the metric, also if nothing is left behind, so that its absence means
// that no round runs.
func TestEachRoundOfAResumerWritesOneLine(t *testing.T) {
	for oldest, want := range map[time.Duration]float64{0: 0, 1500 * time.Millisecond: 1.5, 2 * time.Hour: 7200} {
		var out bytes.Buffer
		var o handlers.ResumeObserver = observer(t, &emf.Options{Writer: &out})
		o.ObserveAbandoned(t.Context(), "checkout", oldest)
		check.Equal(t, bytes.Count(out.Bytes(), []byte("\n")), 1)
		got := document(t, out.Bytes())
		check.Equal(t, got["OldestAbandoned"], any(want))
		check.Equal(t, got["operation"], any("checkout"))
		check.Equal(t, len(got), 3, "members besides")
	}
}

// What dashboards and alarms are built on is what a line declares.
func TestMetricsAreThoseOfALine(t *testing.T) {
	want := []emf.Metric{
		{"Calls", "Count", []string{"operation"}},
		{"Calls", "Count", []string{"operation", "outcome"}},
		{"LapsedLeases", "Count", []string{"operation"}},
		{"Refused", "Count", []string{"operation"}},
		{"StoreErrors", "Count", []string{"operation"}},
		{"StoreThrottles", "Count", []string{"operation"}},
		{"Overhead", "Milliseconds", []string{"operation"}},
		{"RoundTrips", "Count", []string{"operation"}},
		{"Refused", "Count", []string{"operation", "reason"}},
		{"OldestAbandoned", "Seconds", []string{"operation"}},
	}
	check.Deep(t, emf.Metrics(), want)
	var declared []emf.Metric
	var out bytes.Buffer
	o := observer(t, &emf.Options{Writer: &out})
	o.Observe(t.Context(), refused(&idempotent.MissingKeyError{Part: "id"})) // its line declares all of a call
	o.ObserveAbandoned(t.Context(), "op", 0)
	var directives []any
	for line := range bytes.Lines(out.Bytes()) {
		directives = append(directives, document(t, line)["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)...)
	}
	for _, d := range directives {
		d := d.(map[string]any)
		if d["Namespace"] != emf.Namespace {
			t.Errorf("namespace %v", d["Namespace"])
		}
		for _, set := range d["Dimensions"].([]any) {
			var dimensions []string
			for _, name := range set.([]any) {
				dimensions = append(dimensions, name.(string))
			}
			for _, m := range d["Metrics"].([]any) {
				m := m.(map[string]any)
				declared = append(declared, emf.Metric{Name: m["Name"].(string), Unit: m["Unit"].(string), Dimensions: dimensions})
			}
		}
	}
	check.Deep(t, declared, want)
}

func TestNamespace(t *testing.T) {
	var out bytes.Buffer
	o := observer(t, &emf.Options{Namespace: "Shop/Once", Writer: &out})
	o.ObserveAbandoned(t.Context(), "op", time.Second)
	document(t, out.Bytes())
	check.Contains(t, out.String(), `"Namespace":"Shop/Once"`)
	out.Reset()
	o.Observe(t.Context(), idempotent.Event{Operation: "op", Outcome: idempotent.OutcomeExecuted})
	if document(t, out.Bytes()); strings.Count(out.String(), `"Namespace":"Shop/Once"`) != 2 || strings.Contains(out.String(), `"Namespace":"Once"`) {
		t.Errorf("%s", out.String())
	}
	for _, bad := range []string{"é", "a\nb", "AWS/Lambda", strings.Repeat("n", 256)} {
		_, err := emf.New(&emf.Options{Namespace: bad})
		check.Says(t, err, "Namespace", bad)
	}
}
