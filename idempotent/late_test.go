package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// refusesLate returns a Config whose keys are late after an hour, less a second.
func refusesLate() *idempotent.Config {
	return &idempotent.Config{RefuseLate: true, Retention: time.Hour}
}

// tryKey is try with a key other than theKey.
func tryKey(ctx context.Context, t testing.TB, x *idempotent.Executor, key idempotent.Key, fn func(context.Context) (string, error)) result {
	t.Helper()
	ctx, event := adapter.WithEvent(ctx)
	value, err := idempotent.Do(ctx, x, key, fn)
	return result{t, value, event, err}
}

// tryIssued is try with a key that was issued so long ago.
func tryIssued(ctx context.Context, t testing.TB, x *idempotent.Executor, ago time.Duration, fn func(context.Context) (string, error)) result {
	t.Helper()
	key := theKey
	key.Issued = time.Now().Add(-ago)
	return tryKey(ctx, t, x, key, fn)
}

// refusedAsLate checks that nothing was run because the key is late.
func (r result) refusedAsLate() result {
	r.t.Helper()
	return r.is(idempotent.ErrKeyExpired).ended(idempotent.OutcomeExpired).attempt(0).with("")
}

// A late key does with a record what every key does, and makes none.
func TestLateKey(t *testing.T) {
	open, reads, unclaimed := idempotent.Config{OnStoreError: idempotent.FailOpen}, idempotent.Config{ReadFirst: true}, idempotent.Config{Optimistic: true}
	late, lateOutcome := idempotent.ErrKeyExpired, idempotent.OutcomeExpired
	for name, test := range map[string]meeting{
		"a first call is refused":               {err: late, outcome: lateOutcome, reads: 1},
		"no expired one is replaced":            {meets: expired, err: late, outcome: lateOutcome, reads: 1},
		"a finished call is replayed":           {meets: finished, value: "theirs", outcome: idempotent.OutcomeReplayed, reads: 1},
		"a lapsed call is continued":            {meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover, reads: 1, tries: 2},
		"failing open, a first call is refused": {config: open, err: late, outcome: lateOutcome, reads: 1},
		"failing open, a lapsed call continues": {config: open, meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover, reads: 1, tries: 2},
		"reading first, it reads once":          {config: reads, err: late, outcome: lateOutcome, reads: 1},

		"optimistic, a first call is refused":    {config: unclaimed, err: late, outcome: lateOutcome, reads: 1},
		"optimistic, no expired one is replaced": {config: unclaimed, meets: expired, err: late, outcome: lateOutcome, reads: 1},
		"optimistic, a lapsed call is claimed":   {config: unclaimed, meets: lapsed, value: "ours", outcome: idempotent.OutcomeTakeover, reads: 2, tries: 2},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.RefuseLate, test.config.Retention = true, time.Hour
			test.plays(t, 2*time.Hour)
		})
	}
}

func TestKeyExpiredErrorSaysHowLateTheKeyIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tryIssued(t.Context(), t, newExecutor(t, memory.New(0), refusesLate()), 2*time.Hour, mustNotRun(t))
		late := check.As[*idempotent.KeyExpiredError](t, r.err)
		check.Time(t, late.Issued, time.Now().Add(-2*time.Hour))
		check.Equal(t, late.Age, 2*time.Hour)
		check.Equal(t, late.RecordID, r.event.RecordID)
		check.Contains(t, late.Error(), "was issued 2h0m0s ago")
	})
}

func TestWhenAKeyIsLate(t *testing.T) {
	const (
		always = 10 * time.Hour
		bound  = time.Hour - time.Second // the Retention less the ClockSkew
		before = 10*time.Minute - time.Second
	)
	shorter := func(until time.Duration) idempotent.RetentionBefore {
		return idempotent.RetentionBefore{Retention: 10 * time.Minute, Until: time.Now().Add(-until)}
	}
	for _, test := range []struct {
		name  string
		ago   time.Duration
		until time.Duration // of RetentionBefore, or 0
		late  bool
	}{
		{"just made", 0, 0, false},
		{"made in the future", -time.Hour, 0, false},
		{"at the bound", bound, 0, false},
		{"behind the bound", bound + 1, 0, true},
		{"made before the Retention was lengthened, at the bound", before, time.Second, false},
		{"made before the Retention was lengthened, behind the bound", before + 1, time.Second, true},
		{"made as the Retention was lengthened, by a clock behind", 20*time.Minute - time.Second + 1, 20 * time.Minute, true},
		{"made after the Retention was lengthened", 20*time.Minute - time.Second, 20 * time.Minute, false},
		{"made after it, and behind the bound", bound + 1, always, true},
	} {
		bubble(t, test.name, func(t *testing.T) {
			config := refusesLate()
			if test.until > 0 {
				config.RetentionBefore = shorter(test.until)
			}
			x := newExecutor(t, memory.New(0), config)
			if test.late {
				tryIssued(t.Context(), t, x, test.ago, mustNotRun(t)).refusedAsLate()
				return
			}
			tryIssued(t.Context(), t, x, test.ago, returns("ran")).returned("ran").ended(idempotent.OutcomeExecuted).roundTrips(2)
		})
	}
	t.Run("no time is known", func(t *testing.T) {
		try(t.Context(), t, newExecutor(t, memory.New(0), refusesLate()), returns("ran")).returned("ran")
	})
	t.Run("nobody asks", func(t *testing.T) {
		tryIssued(t.Context(), t, newExecutor(t, memory.New(0), &idempotent.Config{Retention: time.Hour}), always, returns("ran")).returned("ran")
	})
	t.Run("nothing is protected", func(t *testing.T) {
		t.Setenv("ONCE_DISABLED", "1")
		x := newExecutor(t, memory.New(0), refusesLate())
		tryIssued(t.Context(), t, x, always, returns("ran")).returned("ran").ended(idempotent.OutcomeBypassed)
		check.False(t, adapter.RefusesLate(x))
	})
}

// Without its record, nothing tells a late key from the first.
func TestReadForALateKeyThatFailsRunsNothing(t *testing.T) {
	for _, failure := range []error{errNetwork, errDenied} {
		for _, config := range []idempotent.Config{{}, {ReadFirst: true}, {OnStoreError: idempotent.FailOpen}, {Optimistic: true}, {Optimistic: true, ReadFirst: true}} {
			b := newBank()
			b.get = func(context.Context) (driver.Record, error) { return driver.Record{}, failure }
			config.RefuseLate, config.Retention = true, time.Hour
			r := tryIssued(t.Context(), t, newExecutor(t, b, &config), 2*time.Hour, mustNotRun(t)).is(failure).ended(idempotent.OutcomeFailed)
			failed := check.As[*idempotent.StoreError](t, r.err)
			check.False(t, failed.Executed)
			check.Equal(t, b.tries, 0, config)
		}
	}
}

func TestReadThatFailsBehindTheRetentionRunsNothing(t *testing.T) {
	for _, optimistic := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank()
			b.get = hungGet
			config := refusesLate()
			config.ReadFirst, config.Optimistic = true, optimistic
			tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, mustNotRun(t)).is(idempotent.ErrStore).ended(idempotent.OutcomeFailed)
			check.Equal(t, b.tries, 0)
		})
	}
}

func TestIssuedIn(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		check.Must(t, err)
		return parsed
	}
	for _, test := range []struct {
		name, id string
		want     time.Time
	}{
		{"the UUID of RFC 9562", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", at("2022-02-22T14:22:22-05:00")},
		{"in lower case", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", at("2022-02-22T19:22:22Z")},
		{"the ULID of its specification", "01ARZ3NDEKTSV4RRFFQ69G5FAV", at("2016-07-30T23:54:10.259Z")},
		{"a ULID in lower case", "01arz3ndektsv4rrffq69g5fav", at("2016-07-30T23:54:10.259Z")},
		{"the last ULID", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", time.UnixMilli(1<<48 - 1)},
		{"a ULID that overflows", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", time.Time{}},
		{"a letter that no ULID has", "01ARZ3NDEKTSV4RRFFQ69G5FAU", time.Time{}},
		{"a letter that is an S in upper case", "01ARZ3NDEKTſV4RRFFQ69G5FA", time.Time{}},
		{"a UUID of version 4", "919108f7-52d1-4320-9bac-f847db4148a8", time.Time{}},
		{"a UUID of another variant", "017F22E2-79B0-7CC3-D8C4-DC0C0C07398F", time.Time{}},
		{"a UUID with a letter", "017F22E2-79B0-7CC3-98C4-DC0C0C07398G", time.Time{}},
		{"a UUID without its hyphens", "017F22E279B07CC398C4DC0C0C07398F", time.Time{}},
		{"a UUID with other separators", "017F22E2_79B0_7CC3_98C4_DC0C0C07398F", time.Time{}},
		{"an order number", "order-4711", time.Time{}},
		{"nothing", "", time.Time{}},
	} {
		check.True(t, idempotent.IssuedIn(test.id).Equal(test.want), test.name, idempotent.IssuedIn(test.id))
	}
}
