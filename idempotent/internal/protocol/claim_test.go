package protocol

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestDecide(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const me, other = "me", "other"
	const once, always = 1, 0 // attempts
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	running := func(owner string, lease time.Time) driver.Record {
		return driver.Record{Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease, Fingerprint: "f"}
	}
	for _, test := range []struct {
		name string
		met  driver.Record
		max  int
		want Verdict
	}{
		{"no record", driver.Record{}, always, ClaimAnew},
		{"ours, live", running(me, now.Add(time.Minute)), always, RunHandler},
		{"ours, lapsed", running(me, ago(time.Hour)), always, RunHandler},
		{"ours, with no attempt left", running(me, now.Add(time.Minute)), once, RunHandler},
		{"ours, completed", driver.Record{Status: driver.Completed, Owner: me, Fingerprint: "f"}, always, ReplayRecord},
		{"ours, failed", driver.Record{Status: driver.Failed, Owner: me, Fingerprint: "f"}, always, ReplayRecord},
		{"completed", driver.Record{Status: driver.Completed, Owner: other, Fingerprint: "f"}, always, ReplayRecord},
		{"completed by another library", driver.Record{Status: driver.Completed}, once, ReplayRecord},
		{"failed", driver.Record{Status: driver.Failed, Owner: other, Fingerprint: "f"}, always, ReplayRecord},
		{"completed, another payload", driver.Record{Status: driver.Completed, Fingerprint: "g"}, always, RefuseReuse},
		{"failed, another payload", driver.Record{Status: driver.Failed, Fingerprint: "g"}, always, RefuseReuse},
		{"running, another payload", driver.Record{Status: driver.InProgress, Owner: other, Lease: now, Fingerprint: "g"}, always, RefuseReuse},
		{"lapsed, another payload", driver.Record{Status: driver.InProgress, Owner: other, Lease: ago(time.Hour), Fingerprint: "g"}, always, RefuseReuse},
		{"running", running(other, now.Add(time.Minute)), always, AwaitOwner},
		{"lapsed by our clock alone", running(other, ago(time.Millisecond)), always, AwaitOwner},
		{"lapsed by just the skew", running(other, ago(time.Second)), always, AwaitOwner},
		{"lapsed by more than the skew", running(other, ago(time.Second+time.Millisecond)), always, TakeOver},
		{"running without a lease", running("", time.Time{}), always, AwaitOwner},
		{"released", running("", driver.LeaseEnded), always, TakeOver},
		{"released, no attempt left", running("", driver.LeaseEnded), once, OutcomeLost},
		{"released and refunded", driver.Record{Status: driver.InProgress, Attempt: 1, Refunds: 1, Lease: driver.LeaseEnded}, once, TakeOver},
		{"lapsed, no attempt left", running(other, ago(time.Hour)), once, OutcomeLost},
		{"lapsed, without an attempt", driver.Record{Status: driver.InProgress, Lease: ago(time.Hour)}, once, OutcomeLost},
		{"running, no attempt left", running(other, now.Add(time.Minute)), once, AwaitOwner},
		{"second attempt, first refunded", driver.Record{Status: driver.InProgress, Owner: other, Attempt: 2, Refunds: 1, Lease: ago(time.Hour)}, once, OutcomeLost},
		{"a status of another version", driver.Record{Status: "PAUSED", Lease: ago(time.Hour)}, always, RefuseUnknown},
		{"completed, and over", driver.Record{Status: driver.Completed, Fingerprint: "g", Expires: ago(time.Hour)}, always, ClaimAnew},
		{"running without a lease, and over", driver.Record{Status: driver.InProgress, Expires: ago(time.Hour)}, once, ClaimAnew},
		{"running under a lease, and past its retention", driver.Record{Status: driver.InProgress, Owner: other, Lease: now, Expires: ago(time.Hour)}, always, AwaitOwner},
	} {
		us := Claimant{Owner: me, Fingerprint: "f", Cutoff: now.Add(-time.Second), MaxAttempts: test.max}
		check.Equal(t, us.Decide(test.met), test.want, test.name)
		if us.OnlyTakesOver = true; test.want == ClaimAnew {
			test.want = RefuseLate
		}
		check.Equal(t, us.Decide(test.met), test.want, test.name, "for a late key")
	}
}

// What a provider has forgotten decides last: only where a takeover would run.
func TestDecideWhatAProviderRemembers(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const memory = time.Hour
	ends := now.Add(time.Minute) // the handler, at the latest
	bound := ends.Add(-memory)
	for _, test := range []struct {
		name   string
		memory time.Duration
		began  time.Time
		change func(*driver.Record)
		want   Verdict
	}{
		{"it ends as the provider forgets", memory, bound, nil, TakeOver},
		{"it ends behind that", memory, bound.Add(-time.Millisecond), nil, KeyForgotten},
		{"it has begun behind that", memory, now.Add(-2 * memory), nil, KeyForgotten},
		{"nobody asks", 0, now.Add(-2 * memory), nil, TakeOver},
		{"nobody knows when it began", memory, time.Time{}, nil, TakeOver},
		{"released", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Owner, r.Lease = "", driver.LeaseEnded }, KeyForgotten},
		{"released and refunded", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Owner, r.Lease, r.Refunds = "", driver.LeaseEnded, 1 }, KeyForgotten},
		{"no attempt is left either", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Attempt = 3 }, OutcomeLost},
		{"running", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Lease = now }, AwaitOwner},
		{"ours", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Owner = "me" }, RunHandler},
		{"completed", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Status = driver.Completed }, ReplayRecord},
		{"another payload", memory, bound.Add(-time.Millisecond), func(r *driver.Record) { r.Fingerprint = "g" }, RefuseReuse},
	} {
		met := driver.Record{Status: driver.InProgress, Owner: "other", Attempt: 1, Lease: now.Add(-time.Minute), Fingerprint: "f", Began: test.began}
		if test.change != nil {
			test.change(&met)
		}
		us := Claimant{Owner: "me", Fingerprint: "f", Cutoff: now.Add(-time.Second), MaxAttempts: 3, End: ends, ProviderMemory: test.memory}
		check.Equal(t, us.Decide(met), test.want, test.name)
		us.OnlyTakesOver = true
		check.Equal(t, us.Decide(met), test.want, test.name, "for one that only takes over")
	}
}

func TestDecideComparesFingerprintsThatBothSidesHave(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	for _, test := range []struct {
		stored, ours string
		want         Verdict
	}{
		{"", "", ReplayRecord}, {"f", "", ReplayRecord}, {"", "f", ReplayRecord}, {"f", "f", ReplayRecord}, {"f", "g", RefuseReuse},
	} {
		met := driver.Record{Status: driver.Completed, Fingerprint: test.stored}
		us := Claimant{Owner: "me", Fingerprint: test.ours, Cutoff: now}
		check.Equal(t, us.Decide(met), test.want, test.stored, test.ours)
	}
}

// An absent owner is nobody's: neither is it ours, however we came to have no
// token.
func TestDecideNobodyIsNotUs(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	met := driver.Record{Status: driver.InProgress, Lease: now.Add(time.Minute)}
	check.Equal(t, Claimant{Cutoff: now}.Decide(met), AwaitOwner)
}
