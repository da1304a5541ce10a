package idempotent_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// errNetwork is the error of a store whose answer is lost.
var errNetwork = fmt.Errorf("connection reset: %w", driver.ErrUnavailable)

func newExecutor(t testing.TB, store driver.Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	return named(t, "op", store, config)
}

func named(t testing.TB, operation string, store driver.Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New(operation, store, config)
	check.Must(t, err)
	return x
}

// the record of theKey, as it is stored.
var theKey = idempotent.Key{Scope: "tenant", ID: "k", Payload: 1}

// otherPayload is theKey of another request.
var otherPayload = idempotent.Key{Scope: theKey.Scope, ID: theKey.ID, Payload: 2}

func stored(t testing.TB, store driver.Store) driver.Record {
	t.Helper()
	r, err := store.Get(context.Background(), recordID(t, theKey))
	check.Must(t, err)
	return r
}

// recordIs checks the state of theKey's record: "no record", "released, attempt 2,
// refunds 1", "in progress by other", "failed", and so on.
func recordIs(t testing.TB, store driver.Store, want string) {
	t.Helper()
	r := stored(t, store)
	text := cmp.Or(strings.Replace(strings.ToLower(string(r.Status)), "inp", "in p", 1), "no record")
	switch {
	case r.Status == driver.InProgress && r.Owner == "":
		text = "released"
	case r.Owner == "other" || r.Owner == "crashed": // of a test, and no token
		text += " by " + r.Owner
	}
	if r.Attempt > 1 {
		text += fmt.Sprint(", attempt ", r.Attempt)
	}
	if r.Refunds > 0 {
		text += fmt.Sprint(", refunds ", r.Refunds)
	}
	if len(r.Steps) > 0 {
		text += ", steps " + strings.Join(slices.Sorted(maps.Keys(r.Steps)), " ")
	}
	check.Equal(t, text, want)
}

func recordID(t testing.TB, key idempotent.Key) string {
	t.Helper()
	id, err := key.RecordID("op")
	check.Must(t, err)
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

// never is mustNotRun for a result of type T.
func never[T any](t testing.TB) func(context.Context) (T, error) {
	return func(ctx context.Context) (none T, _ error) {
		t.Helper()
		_, err := mustNotRun(t)(ctx)
		return none, err
	}
}

// took checks how long ago begun was.
func took(t testing.TB, begun time.Time, least, most time.Duration, about ...any) {
	t.Helper()
	d := time.Since(begun)
	check.True(t, d >= least, append(about, d)...)
	check.True(t, d <= most, append(about, d)...)
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

// observed is with an error that the observer sees.
func (r result) observed(err error) result {
	r.t.Helper()
	check.Is(r.t, r.event.Err, err)
	return r
}

// soldOut is with the handler's own error, and not with one that wraps it.
func (r result) soldOut() result {
	r.t.Helper()
	_, ok := r.err.(*soldOutError)
	check.True(r.t, ok, r.err)
	return r
}

// executed is with a StoreError of a handler that may have had its effects.
func (r result) executed() *idempotent.StoreError {
	r.t.Helper()
	failed := check.As[*idempotent.StoreError](r.t, r.err)
	check.True(r.t, failed.Executed, "executed")
	check.False(r.t, failed.RolledBack, "rolled back")
	return failed
}

// rolledBack is with a StoreError of a transaction that was not committed.
func (r result) rolledBack() {
	r.t.Helper()
	failed := check.As[*idempotent.StoreError](r.t, r.err)
	check.True(r.t, failed.RolledBack, "rolled back")
	check.False(r.t, failed.Executed, "executed")
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

// bubble is a subtest whose time is that of package synctest.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// onLambda is a bubble in a Lambda function.
func onLambda(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, test)
}

func during(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// panicOf returns the value with which fn panics, or nil.
func panicOf(fn func()) (p any) {
	defer func() { p = recover() }()
	fn()
	return nil
}

// inGoroutine waits for fn, which may end its goroutine.
func inGoroutine(fn func()) {
	var group sync.WaitGroup
	group.Go(fn)
	group.Wait()
}

// takeOver makes "other" the owner of theKey's record for an hour, as a successor is.
func takeOver(t *testing.T, store *memory.Store) {
	t.Helper()
	r := stored(t, store)
	r.Owner, r.Attempt, r.Lease = "other", r.Attempt+1, time.Now().Add(time.Hour)
	check.Must(t, store.Put(r))
}

// TestMain silences the default Observer: nearly every test has calls that end
// badly. Those that look at what it logs set a logger of their own.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
