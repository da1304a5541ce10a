package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// deadline returns when the server deletes the key of a record.
func deadline(t *testing.T, s *Store, client *redis.Client, id string) time.Time {
	t.Helper()
	ms, err := client.Do(t.Context(), "PEXPIRETIME", s.options.Prefix+id).Int64()
	must(t, err)
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func TestAKeyOutlivesItsRecordByThreeHours(t *testing.T) {
	s, client := newStore(t)
	if emulated(t) {
		t.Skip("needs PEXPIRETIME")
	}
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
	change := func(c driver.Change) {
		t.Helper()
		if _, ok, err := s.Change(t.Context(), fenceOf(r), c); !ok || err != nil {
			t.Fatalf("%+v: ok %v, %v", c, ok, err)
		}
	}
	created(t, s, r)
	expect("the claim", driver.WholeSeconds(r.Expires).Add(3*time.Hour))
	change(driver.Change{Steps: map[string][]byte{"s": nil}})
	expect("a step", driver.WholeSeconds(r.Expires).Add(3*time.Hour))
	r.Lease = now.Add(48 * time.Hour)
	change(driver.Change{Lease: r.Lease, Expires: r.Expires})
	expect("a lease past the retention", r.Lease.Add(3*time.Hour))
	r.Expires = now.Add(72 * time.Hour)
	change(driver.Change{Status: driver.Completed, Expires: r.Expires})
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
	if _, ok, err := s.Change(t.Context(), fenceOf(r), completed("1")); !ok || err != nil {
		t.Errorf("the completion: ok %v, %v", ok, err)
	}
}

// Other libraries let the server delete a claim by a fixed time to live, and a second
// caller runs while the first one does.
func TestARecordWithoutALeaseIsNotReclaimed(t *testing.T) {
	s, client := newStore(t)
	r := claim("a")
	r.Lease, r.Fingerprint, r.Expires = time.Time{}, "", time.Now().Add(24*time.Hour)
	plant(s, client)(t, r)
	x, err := idempotent.New("op", s, nil)
	must(t, err)
	_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: "a"}, func(context.Context) (string, error) {
		t.Error("a second caller runs")
		return "", nil
	})
	if !errors.Is(err, idempotent.ErrInProgress) {
		t.Errorf("%v", err)
	}
	f := driver.Fence{ID: "a", Owner: "alice", Attempt: 1, Lease: r.Expires}
	if _, ok, err := s.Change(t.Context(), f, driver.Change{Owner: "bob", Lease: time.Now().Add(time.Hour)}); ok || err != nil {
		t.Errorf("a takeover under another lease: ok %v, %v", ok, err)
	}
}

// Other libraries recover with a write that does not look at what it replaces.
func TestRecoveryOverwritesNoLiveOrFinishedRecord(t *testing.T) {
	s, _ := newStore(t)
	stale := claim("a")
	stale.Lease = time.Now().Add(-time.Minute)
	created(t, s, stale)
	recover := driver.Change{Owner: "mallory", Lease: time.Now().Add(time.Hour), Expires: time.Now().Add(time.Hour)}

	// The owner was slow and has extended its lease, since the other one looked.
	live := stale
	live.Lease = time.Now().Add(time.Minute)
	if _, ok, err := s.Change(t.Context(), fenceOf(stale), driver.Change{Lease: live.Lease, Expires: live.Expires}); !ok || err != nil {
		t.Fatalf("extend: ok %v, %v", ok, err)
	}
	met, ok, err := s.Change(t.Context(), fenceOf(stale), recover)
	if ok || err != nil || met.Owner != "alice" {
		t.Errorf("recovery of a live record: ok %v, %v, %v", ok, met, err)
	}
	if met, ok, err := s.Change(t.Context(), driver.Fence{ID: "a", Owner: "mallory"}, completed("2")); ok || err != nil || met.Owner != "alice" {
		t.Errorf("completion by another: ok %v, %v, %v", ok, met, err)
	}
	if _, ok, err := s.Change(t.Context(), fenceOf(live), completed("1")); !ok || err != nil {
		t.Fatalf("complete: ok %v, %v", ok, err)
	}
	for what, f := range map[string]driver.Fence{"as it was": fenceOf(stale), "as it is": fenceOf(live)} {
		met, ok, err = s.Change(t.Context(), f, recover)
		if ok || err != nil || met.Status != driver.Completed || string(met.Data) != "1" {
			t.Errorf("recovery of a finished record, %s: ok %v, %v, %v", what, ok, met, err)
		}
	}
	again := claim("a")
	again.Owner = "mallory"
	if met, ok, err = s.Create(t.Context(), again, time.Now(), nil); ok || err != nil || string(met.Data) != "1" {
		t.Errorf("a claim on a finished record: ok %v, %v, %v", ok, met, err)
	}
}
