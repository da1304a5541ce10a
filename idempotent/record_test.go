package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// read returns the record of theKey, whose payload counts for nothing.
func read(t testing.TB, x *idempotent.Executor) *idempotent.Stored {
	t.Helper()
	s, err := x.Record(t.Context(), otherPayload)
	check.Must(t, err)
	return s
}

func TestRecordTellsWhatTheStoreKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := memory.New(0), time.Now()
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute, Retention: time.Hour})
		s := read(t, x)
		check.Equal(t, s.Status, driver.Absent)
		check.Equal(t, s.Left(), 0)
		_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			time.Sleep(10 * time.Second)
			s := read(t, x)
			check.Equal(t, s.Status, driver.InProgress)
			check.Equal(t, s.Left(), time.Until(s.Lease))
			check.True(t, s.Left() > 0, s.Left())
			return "secret", nil
		})
		check.Must(t, err)
		time.Sleep(10 * time.Minute)
		s = read(t, x)
		check.Equal(t, s.Status, driver.Completed)
		check.Equal(t, s.Attempt, 1)
		check.Time(t, s.Began, began)
		check.True(t, s.Lease.IsZero(), s.Lease)
		check.Time(t, s.Ended.At, began.Add(10*time.Second))
		check.Equal(t, s.Left(), time.Until(s.Expires))
		check.True(t, s.Left() < 51*time.Minute, s.Left())
		time.Sleep(time.Hour)
		s = read(t, x)
		check.Equal(t, s.Status, driver.Absent, "it has expired")
		check.Equal(t, s.Left(), 0)
	})
}

func TestRecordWithoutAnEndIsLeftForever(t *testing.T) {
	store := storing(t, func(r *driver.Record) { r.Status, r.Lease, r.Expires = driver.Completed, time.Time{}, time.Time{} })
	check.Equal(t, read(t, newExecutor(t, store, nil)).Left(), math.MaxInt64)
}

func TestEvictedKeyRunsAgainWithAnyPayload(t *testing.T) {
	for name, config := range map[string]*idempotent.Config{"": nil, "cached": {CacheEntries: 1}} {
		store := memory.New(0)
		x := newExecutor(t, store, config)
		try(t.Context(), t, x, returns("first")).succeeded()
		s := read(t, x)
		check.Nil(t, s.Evict(t.Context()), name)
		recordIs(t, store, "no record")
		check.Nil(t, s.Evict(t.Context()), "the answer of the first was lost")
		tryKey(t.Context(), t, x, otherPayload, returns("second")).returned("second")
		check.Is(t, s.Evict(t.Context()), idempotent.ErrRecordChanged, name)
		check.Is(t, s.ForceEvict(t.Context()), idempotent.ErrRecordChanged, name)
		recordIs(t, store, "completed")
	}
}

// A record whose lease is in doubt belongs to its owner, unless the caller knows better.
func TestEvictRefusesALiveOwner(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		owner   string
		lease   time.Time
		evicted bool
	}{
		"runs":             {"other", now.Add(time.Minute), false},
		"within the skew":  {"other", now.Add(-10 * time.Millisecond), false},
		"without a lease":  {"", time.Time{}, false},
		"may be paused":    {"execution-1a2b", now.Add(-time.Hour), false},
		"lapsed":           {"other", now.Add(-time.Hour), true},
		"released already": {"", driver.LeaseEnded, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, nil)
			r := met(t, func(r *driver.Record) { r.Owner, r.Lease = c.owner, driver.WholeMillis(c.lease) })
			check.Must(t, store.Put(r))
			err := read(t, x).Evict(t.Context())
			check.Equal(t, err == nil, c.evicted, err)
			if !c.evicted {
				check.Time(t, check.As[*idempotent.InProgressError](t, err).Until, r.Lease)
				check.Equal(t, stored(t, store).Status, driver.InProgress)
				check.Nil(t, read(t, x).ForceEvict(t.Context()))
			}
			recordIs(t, store, "no record")
		})
	}
}

// readsFail fails as a server that does not answer.
type readsFail struct{ *memory.Store }

func (readsFail) Inspect(context.Context, string) (driver.Entry, error) {
	return driver.Entry{}, errNetwork
}

type evictionLost struct{ *memory.Store }

func (evictionLost) Apply(context.Context, driver.Entry, driver.Change) (driver.Entry, bool, error) {
	return driver.Entry{}, false, errNetwork
}

func TestRecordReturnsTypedErrors(t *testing.T) {
	_, err := newExecutor(t, readsFail{memory.New(0)}, nil).Record(t.Context(), theKey)
	check.Is(t, err, idempotent.ErrStore)
	check.Is(t, err, errNetwork)
	_, err = newExecutor(t, struct{ driver.Store }{memory.New(0)}, nil).Record(t.Context(), theKey)
	check.Contains(t, check.As[*driver.ConfigError](t, err).Error(), "no driver.Operable")
	_, err = newExecutor(t, memory.New(0), nil).Record(t.Context(), idempotent.Key{})
	check.Is(t, err, idempotent.ErrMissingKey)
	x := newExecutor(t, evictionLost{memory.New(0)}, nil)
	try(t.Context(), t, x, returns("first")).succeeded()
	err = read(t, x).Evict(t.Context())
	check.Is(t, err, idempotent.ErrStore)
	check.Is(t, err, errNetwork)
}

func TestDisabledExecutorHasNoRecords(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "1")
	s := read(t, newExecutor(t, readsFail{memory.New(0)}, nil))
	check.Equal(t, s.Status, driver.Absent)
	check.Nil(t, s.ForceEvict(t.Context()))
}

// The record of a key of another library may be the key itself, and no error has it.
func TestErrorsOfEvictionHaveNoForeignKey(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	key := idempotent.Key{Record: "Ada's order"}
	_, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (string, error) {
		s, err := x.Record(ctx, key)
		check.Must(t, err)
		refused := s.Evict(ctx)
		check.Is(t, refused, idempotent.ErrInProgress)
		check.Lacks(t, refused.Error(), "Ada")
		check.Nil(t, s.ForceEvict(ctx))
		_, _, err = store.Create(ctx, driver.Record{ID: key.Record, Status: driver.InProgress, Owner: "o", Attempt: 1, Lease: time.Now(), Expires: time.Now()}, time.Time{}, nil)
		check.Must(t, err)
		changed := s.ForceEvict(ctx)
		check.Is(t, changed, idempotent.ErrRecordChanged)
		check.Lacks(t, idempotent.SafeText(changed), "Ada")
		return "", errors.New("evicted")
	})
	check.Failed(t, err)
	check.Lacks(t, fmt.Sprint(err), "Ada")
}
