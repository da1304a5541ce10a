package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// afterAMinute runs fn a minute after the claim.
func afterAMinute(fn func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		time.Sleep(time.Minute)
		return fn(ctx)
	}
}

func TestFinishedRecordSaysHowAndWhenItEnded(t *testing.T) {
	funds := driver.Ending{Type: "insufficientFundsError", Code: "funds"}
	refused := idempotent.Permanent(&insufficientFundsError{5})
	sold := driver.Ending{Type: "soldOutError"}
	trip := &trip{fails: map[string]error{"car": soldOut()}}
	for name, c := range map[string]struct {
		config idempotent.Config
		fn     func(context.Context) (string, error)
		want   driver.Ending // besides the time
	}{
		"completed":                        {fn: returns("done")},
		"completed without its result":     {config: idempotent.Config{Codec: refusing{}}, fn: returns("done")},
		"failed":                           {fn: failsWith(refused), want: funds},
		"completed in a transaction":       {fn: books("x", nil)},
		"failed by its transaction":        {fn: books("x", soldOut()), want: sold},
		"failed after undoing":             {fn: trip.book, want: sold},
		"optimistic":                       {config: *optimistic, fn: books("x", nil)},
		"optimistic and failed":            {config: *optimistic, fn: failsWith(refused), want: funds},
		"optimistic without a transaction": {config: *optimistic, fn: returns("done")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBank()
				c.config.Lease = time.Hour
				c.want.At = driver.WholeMillis(time.Now().Add(time.Minute))
				do(t.Context(), newExecutor(t, b, &c.config), afterAMinute(c.fn))
				check.Equal(t, stored(t, b).Ended, c.want)
			})
		})
	}
}

// A transaction that is sent again must be the same to the last bit, and a record must say
// when its work ended, not when the store could be reached.
func TestFinishThatIsSentAgainHasTheSameEnding(t *testing.T) {
	for name, fn := range map[string]func(context.Context) (string, error){
		"completed": returns("done"), "failed": failsWith(soldOut()), "in a transaction": books("x", nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent []driver.Ending
				b := newBank()
				b.on = on(func(w write) bool { return w.change.Status != driver.Absent }, func(w write) (driver.Record, bool, error) {
					sent = append(sent, w.change.Ended)
					if len(sent) < 3 {
						time.Sleep(time.Second)
						return driver.Record{}, false, errNetwork
					}
					return w.send()
				})
				end := driver.WholeMillis(time.Now().Add(time.Minute))
				do(t.Context(), newExecutor(t, b, &idempotent.Config{Lease: time.Hour}), afterAMinute(fn))
				check.Equal(t, len(sent), 3)
				for _, e := range sent {
					check.Equal(t, e, stored(t, b).Ended)
				}
				check.Time(t, stored(t, b).Ended.At, end)
			})
		})
	}
}

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
			tryKey(t.Context(), t, newExecutor(t, store, &c.config), otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused)
		})
	}
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
