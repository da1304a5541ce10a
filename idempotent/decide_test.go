package idempotent

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func TestDecide(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const me, other = "me", "other"
	once, always := &Config{ClockSkew: time.Second, MaxAttempts: 1}, &Config{ClockSkew: time.Second}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	running := func(owner string, lease time.Time) driver.Record {
		return driver.Record{Status: driver.InProgress, Owner: owner, Attempt: 1, Lease: lease, Fingerprint: "f"}
	}
	for _, test := range []struct {
		name   string
		met    driver.Record
		config *Config
		want   verdict
	}{
		{"no record", driver.Record{}, always, claimAnew},
		{"ours, live", running(me, now.Add(time.Minute)), always, runHandler},
		{"ours, lapsed", running(me, ago(time.Hour)), always, runHandler},
		{"ours, with no attempt left", running(me, now.Add(time.Minute)), once, runHandler},
		{"ours, completed", driver.Record{Status: driver.Completed, Owner: me, Fingerprint: "f"}, always, replayRecord},
		{"ours, failed", driver.Record{Status: driver.Failed, Owner: me, Fingerprint: "f"}, always, replayRecord},
		{"completed", driver.Record{Status: driver.Completed, Owner: other, Fingerprint: "f"}, always, replayRecord},
		{"completed by another library", driver.Record{Status: driver.Completed}, once, replayRecord},
		{"failed", driver.Record{Status: driver.Failed, Owner: other, Fingerprint: "f"}, always, replayRecord},
		{"completed, another payload", driver.Record{Status: driver.Completed, Fingerprint: "g"}, always, refuseReuse},
		{"failed, another payload", driver.Record{Status: driver.Failed, Fingerprint: "g"}, always, refuseReuse},
		{"running, another payload", driver.Record{Status: driver.InProgress, Owner: other, Lease: now, Fingerprint: "g"}, always, refuseReuse},
		{"lapsed, another payload", driver.Record{Status: driver.InProgress, Owner: other, Lease: ago(time.Hour), Fingerprint: "g"}, always, refuseReuse},
		{"running", running(other, now.Add(time.Minute)), always, awaitOwner},
		{"lapsed by our clock alone", running(other, ago(time.Millisecond)), always, awaitOwner},
		{"lapsed by just the skew", running(other, ago(time.Second)), always, awaitOwner},
		{"lapsed by more than the skew", running(other, ago(time.Second+time.Millisecond)), always, takeOver},
		{"running without a lease", running("", time.Time{}), always, awaitOwner},
		{"released", running("", driver.LeaseEnded), always, takeOver},
		{"released, no attempt left", running("", driver.LeaseEnded), once, outcomeLost},
		{"released and refunded", driver.Record{Status: driver.InProgress, Attempt: 1, Refunds: 1, Lease: driver.LeaseEnded}, once, takeOver},
		{"lapsed, no attempt left", running(other, ago(time.Hour)), once, outcomeLost},
		{"lapsed, without an attempt", driver.Record{Status: driver.InProgress, Lease: ago(time.Hour)}, once, outcomeLost},
		{"running, no attempt left", running(other, now.Add(time.Minute)), once, awaitOwner},
		{"second attempt, first refunded", driver.Record{Status: driver.InProgress, Owner: other, Attempt: 2, Refunds: 1, Lease: ago(time.Hour)}, once, outcomeLost},
		{"a status of another version", driver.Record{Status: "PAUSED", Lease: ago(time.Hour)}, always, refuseUnknown},
		{"completed, and over", driver.Record{Status: driver.Completed, Fingerprint: "g", Expires: ago(time.Hour)}, always, claimAnew},
		{"running without a lease, and over", driver.Record{Status: driver.InProgress, Expires: ago(time.Hour)}, once, claimAnew},
		{"running under a lease, and past its retention", driver.Record{Status: driver.InProgress, Owner: other, Lease: now, Expires: ago(time.Hour)}, always, awaitOwner},
	} {
		if got := decide(test.met, me, "f", now, test.config); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestDecideComparesFingerprintsThatBothSidesHave(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	for _, test := range []struct {
		stored, ours string
		want         verdict
	}{
		{"", "", replayRecord}, {"f", "", replayRecord}, {"", "f", replayRecord}, {"f", "f", replayRecord}, {"f", "g", refuseReuse},
	} {
		met := driver.Record{Status: driver.Completed, Fingerprint: test.stored}
		if got := decide(met, "me", test.ours, now, &Config{}); got != test.want {
			t.Errorf("stored %q, ours %q: got %d, want %d", test.stored, test.ours, got, test.want)
		}
	}
}

// An absent owner is nobody's: neither is it ours, however we came to have no
// token.
func TestDecideNobodyIsNotUs(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	met := driver.Record{Status: driver.InProgress, Lease: now.Add(time.Minute)}
	if got := decide(met, "", "", now, &Config{}); got != awaitOwner {
		t.Errorf("got %d, want %d", got, awaitOwner)
	}
}
