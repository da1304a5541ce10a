package idempotent

import (
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const me, other = "me", "other"
	once, always := &Config{ClockSkew: time.Second, MaxAttempts: 1}, &Config{ClockSkew: time.Second}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	running := func(owner string, lease time.Time) Record {
		return Record{Status: InProgress, Owner: owner, Attempt: 1, Lease: lease, Fingerprint: "f"}
	}
	for _, test := range []struct {
		name   string
		met    Record
		config *Config
		want   verdict
	}{
		{"no record", Record{}, always, claimAnew},
		{"ours, live", running(me, now.Add(time.Minute)), always, runHandler},
		{"ours, lapsed", running(me, ago(time.Hour)), always, runHandler},
		{"ours, with no attempt left", running(me, now.Add(time.Minute)), once, runHandler},
		{"ours, completed", Record{Status: Completed, Owner: me, Fingerprint: "f"}, always, replayRecord},
		{"ours, failed", Record{Status: Failed, Owner: me, Fingerprint: "f"}, always, replayRecord},
		{"completed", Record{Status: Completed, Owner: other, Fingerprint: "f"}, always, replayRecord},
		{"completed by another library", Record{Status: Completed}, once, replayRecord},
		{"failed", Record{Status: Failed, Owner: other, Fingerprint: "f"}, always, replayRecord},
		{"completed, another payload", Record{Status: Completed, Fingerprint: "g"}, always, refuseReuse},
		{"failed, another payload", Record{Status: Failed, Fingerprint: "g"}, always, refuseReuse},
		{"running, another payload", Record{Status: InProgress, Owner: other, Lease: now, Fingerprint: "g"}, always, refuseReuse},
		{"lapsed, another payload", Record{Status: InProgress, Owner: other, Lease: ago(time.Hour), Fingerprint: "g"}, always, refuseReuse},
		{"running", running(other, now.Add(time.Minute)), always, awaitOwner},
		{"lapsed by our clock alone", running(other, ago(time.Millisecond)), always, awaitOwner},
		{"lapsed by just the skew", running(other, ago(time.Second)), always, awaitOwner},
		{"lapsed by more than the skew", running(other, ago(time.Second+time.Millisecond)), always, takeOver},
		{"running without a lease", running("", time.Time{}), always, awaitOwner},
		{"released", running("", LeaseEnded), always, takeOver},
		{"released, no attempt left", running("", LeaseEnded), once, outcomeLost},
		{"released and refunded", Record{Status: InProgress, Attempt: 1, Refunds: 1, Lease: LeaseEnded}, once, takeOver},
		{"lapsed, no attempt left", running(other, ago(time.Hour)), once, outcomeLost},
		{"lapsed, without an attempt", Record{Status: InProgress, Lease: ago(time.Hour)}, once, outcomeLost},
		{"running, no attempt left", running(other, now.Add(time.Minute)), once, awaitOwner},
		{"second attempt, first refunded", Record{Status: InProgress, Owner: other, Attempt: 2, Refunds: 1, Lease: ago(time.Hour)}, once, outcomeLost},
		{"a status of another version", Record{Status: "PAUSED", Lease: ago(time.Hour)}, always, refuseUnknown},
		{"completed, and over", Record{Status: Completed, Fingerprint: "g", Expires: ago(time.Hour)}, always, claimAnew},
		{"running without a lease, and over", Record{Status: InProgress, Expires: ago(time.Hour)}, once, claimAnew},
		{"running under a lease, and past its retention", Record{Status: InProgress, Owner: other, Lease: now, Expires: ago(time.Hour)}, always, awaitOwner},
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
		met := Record{Status: Completed, Fingerprint: test.stored}
		if got := decide(met, "me", test.ours, now, &Config{}); got != test.want {
			t.Errorf("stored %q, ours %q: got %d, want %d", test.stored, test.ours, got, test.want)
		}
	}
}

// An absent owner is nobody's: neither is it ours, however we came to have no
// token.
func TestDecideNobodyIsNotUs(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	met := Record{Status: InProgress, Lease: now.Add(time.Minute)}
	if got := decide(met, "", "", now, &Config{}); got != awaitOwner {
		t.Errorf("got %d, want %d", got, awaitOwner)
	}
}
