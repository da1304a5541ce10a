package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A foreign writer knows no fence. If it has changed the result under this
// call's token, every caller receives what is stored.
func TestCompleteReturnsWhatIsStored(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, hooked(store, onFirst(isChange, func(w write) (driver.Record, bool, error) {
		_, ok, err := w.send()
		check.True(t, ok)
		check.Nil(t, err)
		r := stored(t, store)
		r.Data = []byte(`"theirs"`)
		check.Nil(t, store.Put(r))
		return driver.Record{}, false, errNetwork
	})), nil)
	try(t.Context(), t, x, returns("ours")).returned("theirs")
}

// A denied completion is repeated, because the work is done, but no more often
// than a person could change the permission. What may pass by itself is repeated
// until the lease ends.
func TestDeniedCompletionIsRepeatedForHalfAMinute(t *testing.T) {
	const lease = 2 * time.Minute
	for _, c := range []struct {
		name        string
		err         error
		least, most int           // tries
		last        time.Duration // the last try is in the second before it
	}{
		{"denied", driver.ErrDenied, 15, 35, 30 * time.Second},
		{"expired credentials", errors.New("the credentials have expired"), 100, 300, lease},
		{"throttled", driver.ErrThrottled, 100, 300, lease},
		{"not reached", errNetwork, 100, 300, lease},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var tries []time.Duration
			begun := time.Now()
			x := newExecutor(t, hooked(memory.New(0), on(isChange, func(w write) (driver.Record, bool, error) {
				check.Equal(t, w.change.Status, driver.Completed, "nothing is released after a success")
				tries = append(tries, time.Since(begun))
				return driver.Record{}, false, c.err
			})), &idempotent.Config{Lease: lease})
			try(t.Context(), t, x, returns("done")).is(c.err).ended(idempotent.OutcomeUnknown).executed()
			check.True(t, len(tries) >= c.least, len(tries))
			check.True(t, len(tries) <= c.most, len(tries))
			last := tries[len(tries)-1]
			check.True(t, last <= c.last, last)
			check.True(t, last >= c.last-2*time.Second, last)
			for i := 1; c.err == driver.ErrDenied && i < len(tries); i++ {
				if pause := tries[i] - tries[i-1]; pause > 2*time.Second+1 || i > 6 && pause < time.Second {
					t.Errorf("try %d came %v after the one before", i+1, pause)
				}
			}
		})
	}
}

// The work is recorded although the client has gone.
func TestCompleteOutlivesTheCaller(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	ctx, cancel := context.WithCancel(t.Context())
	try(ctx, t, x, func(context.Context) (string, error) {
		cancel()
		return "done", nil
	}).returned("done")
	check.Equal(t, stored(t, store).Status, driver.Completed)
}

type unencodable struct{ panics bool }

func (u unencodable) MarshalJSON() ([]byte, error) {
	if u.panics {
		panic("boom")
	}
	return nil, errors.New("no form")
}

// The work is done. It is not repeated because its result cannot be encoded.
func TestCompleteWithoutAnEncodableResult(t *testing.T) {
	for _, u := range []unencodable{{panics: false}, {panics: true}} {
		x := newExecutor(t, memory.New(0), nil)
		ctx, event := adapter.WithEvent(t.Context())
		_, err := idempotent.Do(ctx, x, theKey, func(context.Context) (unencodable, error) { return u, nil })
		check.Nil(t, err)
		check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
		check.Is(t, event.Err, idempotent.ErrResultUnavailable)
		_, err = idempotent.Do(t.Context(), x, theKey, never[unencodable](t))
		check.Is(t, err, idempotent.ErrResultUnavailable)
	}
}

// A result that the store cannot hold is reported to the observer, as one that
// cannot be encoded is.
func TestEventReportsADroppedResult(t *testing.T) {
	store := memory.New(0)
	p := hooked(store, on(isChange, func(w write) (driver.Record, bool, error) {
		if w.change.Data != nil {
			w.change.Data, w.change.Unavailable = nil, "too large" // as Change.Data says a store does
		}
		return store.Change(w.ctx, w.fence, w.change)
	}))
	try(t.Context(), t, newExecutor(t, p, nil), returns("large")).succeeded().observed(idempotent.ErrResultUnavailable)
}

// After an overrun with a small Reserve, the completion is sent at least once.
func TestCompletionIsSentOnceDespiteATinyReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Millisecond}
		p := hooked(store, func(w write) (driver.Record, bool, error) {
			if isExtend(w) {
				return driver.Record{}, false, errNetwork
			}
			return slow(10 * time.Millisecond)(w) // a round trip
		})
		try(t.Context(), t, newExecutor(t, p, config), func(context.Context) (string, error) {
			time.Sleep(11 * time.Second)
			return "done", nil
		}).succeeded()
	})
}

// Another library completes a record without data when its function returns
// nothing. The zero value would pass for a result.
func TestRecordWithoutDataHasNoResult(t *testing.T) {
	store := memory.New(0)
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Expires: time.Now().Add(time.Hour)})
	check.Must(t, err)
	for name, config := range map[string]*idempotent.Config{"": nil, "cached": {CacheEntries: 1}} {
		x := newExecutor(t, store, config)
		for range 2 {
			r := try(t.Context(), t, x, mustNotRun(t)).with("").ended(idempotent.OutcomeReplayed)
			lost := check.As[*idempotent.ResultUnavailableError](t, r.err, name)
			check.False(t, lost.Failed, name)
			check.Equal(t, lost.RecordID, r.event.RecordID, name)
			check.Differ(t, lost.Reason, "", name)
		}
		_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (any, error) { return mustNotRun(t)(t.Context()) })
		check.Is(t, err, idempotent.ErrResultUnavailable, "an any", name)
		// Where there is nothing to know, nothing is missing.
		_, err = idempotent.Do(t.Context(), x, theKey, func(context.Context) (struct{}, error) { return struct{}{}, nil })
		check.Nil(t, err, name)
		effect := idempotent.WrapEffect(x, func(k idempotent.Key) (idempotent.Key, error) { return k, nil },
			func(context.Context, idempotent.Key) error { t.Error("it ran"); return nil })
		check.Nil(t, effect(t.Context(), theKey), name)
	}
}

// The service may be permitted again while the denial is repeated.
func TestDenialAfterAnOutageIsRepeated(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		healthy := time.Now().Add(40 * time.Second)
		denied := hooked(memory.New(0), onFirst(isChange, notSent(driver.ErrDenied)))
		x := newExecutor(t, hooked(denied, on(func(w write) bool { return isChange(w) && time.Now().Before(healthy) }, notSent(driver.ErrUnavailable))), nil)
		try(during(t, 15*time.Minute), t, x, func(context.Context) (string, error) { return "done", nil }).succeeded()
	})
}

// The retention counts from the write that was stored, and not from the first try.
func TestRepeatedCompletionExpiresLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		completes := func(w write) bool { return w.change.Status == driver.Completed }
		x := newExecutor(t, hooked(store, onFirst(completes, func(w write) (driver.Record, bool, error) {
			time.Sleep(10 * time.Second)
			return driver.Record{}, false, errNetwork
		})), &idempotent.Config{Lease: time.Minute, Retention: time.Hour})
		try(t.Context(), t, x, returns("done")).returned("done")
		check.True(t, !stored(t, store).Expires.Before(time.Now().Add(time.Hour).Truncate(time.Second)), stored(t, store).Expires, time.Now())
	})
}
