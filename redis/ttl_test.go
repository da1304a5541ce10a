package redis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// deadline returns when the server deletes the key of a record.
func deadline(t *testing.T, s *Store, client *redis.Client, id string) time.Time {
	t.Helper()
	ms, err := client.Do(t.Context(), "PEXPIRETIME", s.options.Prefix+id).Int64()
	check.Must(t, err)
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func TestAKeyOutlivesItsRecordByThreeHours(t *testing.T) {
	s, client := newStore(t)
	now := time.Now()
	r := claim("a")
	r.Lease, r.Expires = now.Add(time.Minute), now.Add(24*time.Hour)
	expect := func(what string, want time.Time) {
		t.Helper()
		want = driver.WholeMillis(want)
		if got := deadline(t, s, client, "a"); !got.Equal(want) {
			t.Errorf("after %s: the key is deleted at %v, want %v", what, got, want)
		}
	}
	created(t, s, r)
	expect("the claim", driver.WholeSeconds(r.Expires).Add(3*time.Hour))
	changed(t, s, r, driver.Change{Steps: map[string][]byte{"s": nil}})
	expect("a step", driver.WholeSeconds(r.Expires).Add(3*time.Hour))
	r.Lease = now.Add(48 * time.Hour)
	changed(t, s, r, driver.Change{Lease: r.Lease, Expires: r.Expires})
	expect("a lease past the retention", r.Lease.Add(3*time.Hour))
	r.Expires = now.Add(72 * time.Hour)
	changed(t, s, r, driver.Change{Status: driver.Completed, Expires: r.Expires})
	expect("the completion", driver.WholeSeconds(r.Expires).Add(3*time.Hour))

	r.ID, r.Expires = "never", time.Time{}
	created(t, s, r)
	if got := deadline(t, s, client, "never"); !got.IsZero() {
		t.Errorf("a record that never expires is deleted at %v", got)
	}
}

// A caller whose clock is days behind must not see its own claim vanish.
func TestAClaimSurvivesAServerWhoseClockIsAhead(t *testing.T) {
	s, _ := newStore(t)
	past := time.Now().Add(-72 * time.Hour)
	r := claim("a")
	r.Lease, r.Expires = past.Add(time.Minute), past.Add(time.Hour)
	created(t, s, r)
	met, ok, err := s.Create(t.Context(), claim("a"), past, nil)
	if ok || err != nil || met.Owner != "alice" {
		t.Errorf("a second claim: ok %v, %v, %v", ok, met, err)
	}
	changed(t, s, r, completed("1"))
}
