package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

const forEver = time.Duration(1<<63 - 1)

type observe func(idempotent.Event)

func (o observe) Observe(_ context.Context, e idempotent.Event) { o(e) }

func TestObserversSeeEveryCallOnce(t *testing.T) {
	var seen []idempotent.Event
	o := observe(func(e idempotent.Event) { seen = append(seen, e) })
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: idempotent.Observers{o, o}})
	try(t.Context(), t, x, returns("")).succeeded()
	if len(seen) != 2 || seen[0] != seen[1] {
		t.Fatalf("seen: %+v", seen)
	}
	e := seen[0]
	check.Equal(t, e.Operation, "op")
	check.Equal(t, e.RecordID, recordID(t, theKey))
	check.Equal(t, e.KeyHash, strings.TrimPrefix(e.RecordID, "op#"))
	check.True(t, e.Total > 0, e.Total)
	check.True(t, e.Store > 0, e.Store)
	check.True(t, e.Handler >= 0, e.Handler)
	check.True(t, e.Total >= e.Store, e.Total)
}

func TestLogObserver(t *testing.T) {
	const secret = "4111-1111"
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	key := idempotent.Key{Scope: secret, ID: secret, Payload: secret}
	for _, test := range []struct {
		observer idempotent.LogObserver
		fn       func(context.Context) (string, error)
		want     []string
		secret   bool
	}{
		{idempotent.LogObserver{Logger: logger}, returns(secret), []string{"level=DEBUG", "outcome=executed", "operation=op", "record_id=op#"}, false},
		{idempotent.LogObserver{Logger: logger}, failsWith(errors.New(secret)), []string{"level=INFO", "outcome=released", "error=*errors.errorString"}, false},
		{idempotent.LogObserver{Logger: logger, HandlerErrors: true}, failsWith(errors.New(secret)), []string{"outcome=released"}, true},
		{idempotent.LogObserver{Logger: logger}, failsWith(idempotent.Permanent(errors.New(secret))), []string{"level=INFO", "outcome=failed"}, false},
	} {
		out.Reset()
		x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: test.observer})
		_, _ = idempotent.Do(t.Context(), x, key, test.fn)
		for _, want := range test.want {
			check.Contains(t, out.String(), want)
		}
		check.Equal(t, strings.Contains(out.String(), secret), test.secret)
	}
}

type declined struct{ card string }

func (e *declined) Error() string { return "card " + e.card + " declined" }

// The type of an error is reported, and nothing of its text.
func TestErrorType(t *testing.T) {
	const secret = "4111-1111"
	refused := &declined{secret}
	noRelease := hooked(memory.New(0), fails(isChange, errNetwork))
	for want, test := range map[string]struct {
		store driver.Store
		fn    func(context.Context) (string, error)
	}{
		"":                          {memory.New(0), returns(secret)},
		"*idempotent_test.declined": {memory.New(0), failsWith(fmt.Errorf("%s: %w", secret, fmt.Errorf("%w", refused)))},
		"*idempotent_test.declined; *errors.errorString":    {memory.New(0), failsWith(fmt.Errorf("%w, %w: %w", refused, errors.New(secret), refused))},
		"*idempotent_test.declined; *idempotent.StoreError": {noRelease, failsWith(refused)},
		"panic": {memory.New(0), func(context.Context) (string, error) { panic(secret) }},
	} {
		ctx, event := adapter.WithEvent(t.Context())
		panicOf(func() { _, _ = idempotent.Do(ctx, newExecutor(t, test.store, nil), theKey, test.fn) })
		check.Equal(t, event.ErrorType(), want)
	}
}

func TestEventReportsPermanentErrors(t *testing.T) {
	for name, test := range map[string]struct {
		config *idempotent.Config
		err    error
		want   bool
	}{
		"stored":   {nil, idempotent.Permanent(errNetwork), true},
		"released": {&idempotent.Config{ReleasePermanent: true}, idempotent.Permanent(errNetwork), true},
		"another":  {nil, errNetwork, false},
		"none":     {nil, nil, false},
	} {
		_, event, _ := do(t.Context(), newExecutor(t, memory.New(0), test.config), func(context.Context) (string, error) { return "", test.err })
		check.Equal(t, event.Permanent, test.want, name)
	}
}

func TestEventsOfPanicsAndFailedReleases(t *testing.T) {
	panics := func(context.Context) (string, error) { panic("boom") }
	call := func(x *idempotent.Executor, key idempotent.Key, fn func(context.Context) (string, error)) idempotent.Event {
		ctx, event := adapter.WithEvent(t.Context())
		panicOf(func() { _, _ = idempotent.Do(ctx, x, key, fn) })
		return *event
	}
	down := hooked(memory.New(0), fails(isCreate, errNetwork))
	open := newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen})
	e := call(open, theKey, panics)
	check.Equal(t, e.Outcome, idempotent.OutcomeBypassed, "a panic in a run that failed open")
	check.Is(t, e.Err, idempotent.ErrStore)
	unprotected := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	check.Failed(t, call(unprotected, idempotent.Key{}, panics).Err, "a panic in a bypassed run")
	noRelease := hooked(memory.New(0), fails(isChange, errNetwork))
	check.Differ(t, call(newExecutor(t, noRelease, nil), theKey, failsWith(errors.New("try again"))).Outcome, idempotent.OutcomeReleased, "'released' says that the key is free; nothing was released")
}

// The store has not seen the write yet.
func TestWaitOfAWriteForItsBatchIsNoTimeOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hooked(memory.New(0), on(isChange, func(w write) (driver.Record, bool, error) {
			time.Sleep(400 * time.Millisecond)
			driver.Waited(w.ctx, 400*time.Millisecond)
			time.Sleep(12 * time.Millisecond)
			return w.send()
		}))
		ctx := adapter.With(t.Context(), adapter.Sibling(func() (int, <-chan struct{}) { return 0, nil }))
		r := try(ctx, t, newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
			driver.Waited(ctx, time.Hour) // of a different call
			return "done", nil
		}).succeeded()
		check.Equal(t, r.event.Store, 12*time.Millisecond)
		check.Equal(t, r.event.Total, 12*time.Millisecond)
	})
}

// An extension waits while the handler runs.
func TestWaitOfAnExtensionForItsBatchIsPartOfTheHandlersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hooked(memory.New(0), on(isExtend, func(w write) (driver.Record, bool, error) {
			time.Sleep(2 * time.Millisecond)
			driver.Waited(w.ctx, 2*time.Millisecond)
			return w.send()
		}))
		ctx := adapter.With(t.Context(), adapter.Sibling(func() (int, <-chan struct{}) { return 0, nil }))
		r := try(ctx, t, newExecutor(t, p, &idempotent.Config{Lease: 3 * time.Second}), func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "done", nil
		}).succeeded()
		check.Equal(t, r.event.Total, time.Minute)
		check.Equal(t, r.event.Store, 0)
	})
}
