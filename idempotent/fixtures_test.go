package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// errNetwork is the error of a store whose answer is lost.
var errNetwork = fmt.Errorf("connection reset: %w", driver.ErrUnavailable)

// proxy is a store in front of another: each hook may fail a call, before or
// after it reaches the store behind.
type proxy struct {
	driver.Store
	create func(ctx context.Context, r driver.Record, over time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error)
	change func(ctx context.Context, f driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error)
}

func (p *proxy) Create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	next := func() (driver.Record, bool, error) { return p.Store.Create(ctx, r, over, with) }
	if p.create == nil {
		return next()
	}
	return p.create(ctx, r, over, next)
}

func (p *proxy) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	next := func() (driver.Record, bool, error) { return p.Store.Change(ctx, f, c) }
	if p.change == nil {
		return next()
	}
	return p.change(ctx, f, c, next)
}

func newExecutor(t testing.TB, store driver.Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New("op", store, config)
	check.Must(t, err)
	return x
}

// the record of theKey, as it is stored.
var theKey = idempotent.Key{Scope: "tenant", ID: "k", Payload: 1}

func stored(t testing.TB, store driver.Store) driver.Record {
	t.Helper()
	r, err := store.Get(context.Background(), recordID(t, theKey))
	check.Must(t, err)
	return r
}

// recordID learns the id of a key from a store that refuses it.
func recordID(t testing.TB, key idempotent.Key) string {
	t.Helper()
	var id string
	spy := &proxy{Store: memory.New(1), create: func(_ context.Context, r driver.Record, _ time.Time, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		id = r.ID
		return driver.Record{}, false, errors.New("only asked")
	}}
	_, err := idempotent.Do(context.Background(), newExecutor(t, spy, &idempotent.Config{Observer: idempotent.NoObserver{}}), key, func(context.Context) (int, error) { return 0, nil })
	if !errors.Is(err, idempotent.ErrStore) {
		t.Fatal(err)
	}
	return id
}

func returns(value string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, nil }
}

func failsWith(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "dropped", err }
}

func mustNotRun(t testing.TB) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		t.Helper()
		t.Error("the handler ran")
		return "", nil
	}
}

// do calls with an event, for tests that look at the outcome.
func do(ctx context.Context, x *idempotent.Executor, fn func(context.Context) (string, error)) (string, *idempotent.Event, error) {
	ctx, event := adapter.WithEvent(ctx)
	var own error
	value, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (value string, _ error) {
		value, own = fn(ctx)
		return value, own
	})
	mustBeNamed(err, own)
	return value, event, err
}

// result is what a call of do has returned. Each method checks one fact.
type result struct {
	t     testing.TB
	value string
	event *idempotent.Event
	err   error
}

func try(ctx context.Context, t testing.TB, x *idempotent.Executor, fn func(context.Context) (string, error)) result {
	t.Helper()
	value, event, err := do(ctx, x, fn)
	return result{t, value, event, err}
}

func (r result) succeeded() result {
	r.t.Helper()
	check.Nil(r.t, r.err)
	return r
}

// returned is without an error.
func (r result) returned(value string) result {
	r.t.Helper()
	return r.succeeded().with(value)
}

func (r result) with(value string) result {
	r.t.Helper()
	check.Equal(r.t, r.value, value)
	return r
}

func (r result) failed() result {
	r.t.Helper()
	check.Failed(r.t, r.err)
	return r
}

// fails is with that very error, and is with one that wraps it.
func (r result) fails(err error) result {
	r.t.Helper()
	check.Equal(r.t, r.err, err)
	return r
}

func (r result) is(err error) result {
	r.t.Helper()
	check.Is(r.t, r.err, err)
	return r
}

func (r result) ended(outcome idempotent.Outcome) result {
	r.t.Helper()
	check.Equal(r.t, r.event.Outcome, outcome)
	return r
}

func (r result) attempt(n int64) result {
	r.t.Helper()
	check.Equal(r.t, r.event.Attempt, n)
	return r
}

func (r result) roundTrips(n int) result {
	r.t.Helper()
	check.Equal(r.t, r.event.RoundTrips, n)
	return r
}

// TestMain silences the default Observer: nearly every test has calls that end
// badly. Those that look at what it logs set a logger of their own.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
