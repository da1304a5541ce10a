package idempotent_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// redact removes the result of theKey's record, as an operator does.
func redact(t *testing.T, store *memory.Store) {
	t.Helper()
	e, err := store.Inspect(t.Context(), recordID(t, theKey))
	check.Must(t, err)
	_, ok, err := store.Apply(t.Context(), e, e.Redaction("ann", "request 7"))
	check.Must(t, err)
	check.True(t, ok)
}

func TestRedactedRecordKeepsItsGuarantee(t *testing.T) {
	refused := failsWith(idempotent.Permanent(&insufficientFundsError{5}))
	trip := &trip{fails: map[string]error{"car": soldOut()}}
	for name, c := range map[string]struct {
		config idempotent.Config
		fn     func(context.Context) (string, error)
		failed bool
	}{
		"completed":            {fn: returns("theirs")},
		"failed":               {fn: refused, failed: true},
		"failed after undoing": {fn: trip.book, failed: true},
		"sealed":               {config: *sealing(), fn: returns("theirs")},
		"sealed and failed":    {config: *sealing(), fn: refused, failed: true},
		"in a payload store":   {config: *spilling(newShelf()), fn: returns(large)},
		"refusing late keys":   {config: *refusesLate(), fn: returns("theirs")},
		"with one attempt":     {config: idempotent.Config{MaxAttempts: 1}, fn: refused, failed: true},
		"reading first":        {config: idempotent.Config{ReadFirst: true}, fn: returns("theirs")},
		"failing open":         {config: idempotent.Config{OnStoreError: idempotent.FailOpen}, fn: returns("theirs")},
		"without its result":   {config: idempotent.Config{Codec: refusing{}}, fn: returns("theirs")},
		"a provider forgets":   {config: idempotent.Config{ProviderMemory: time.Hour}, fn: returns("theirs")},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			_, _, _ = do(t.Context(), newExecutor(t, store, &c.config), c.fn)
			before := stored(t, store)
			redact(t, store)
			after := before
			after.Data, after.Payload, after.Unavailable = nil, "", driver.Redacted
			after.Ended.By, after.Ended.Reason = "ann", "request 7"
			check.Deep(t, stored(t, store), after)

			r := tryIssued(t.Context(), t, newExecutor(t, store, &c.config), time.Minute, mustNotRun(t)).ended(idempotent.OutcomeReplayed)
			lost := check.As[*idempotent.ResultUnavailableError](t, r.err)
			check.Equal(t, lost.Reason, driver.Redacted)
			check.Equal(t, lost.Failed, c.failed)
			_, err := idempotent.Do(t.Context(), newExecutor(t, store, &c.config), otherPayload, mustNotRun(t))
			check.Is(t, err, idempotent.ErrKeyReused)
		})
	}
}

func TestEffectOfARedactedRecordIsDone(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, returns("theirs")).succeeded()
	redact(t, store)
	effect := idempotent.WrapEffect(x, func(int) (idempotent.Key, error) { return theKey, nil }, func(context.Context, int) error {
		t.Error("it ran")
		return nil
	})
	check.Nil(t, effect(t.Context(), 1))
}

// What Redaction says of caches.
func TestCacheReplaysARedactedResultUntilItsProcessEnds(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{CacheEntries: 10})
	try(t.Context(), t, x, returns("theirs")).succeeded()
	redact(t, store)
	try(t.Context(), t, x, mustNotRun(t)).returned("theirs")
	try(t.Context(), t, newExecutor(t, store, &idempotent.Config{CacheEntries: 10}), mustNotRun(t)).is(idempotent.ErrResultUnavailable)
}
