package redis

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestClaimsAreRefusedWhereLiveOnesMayBeEvicted(t *testing.T) {
	server := newServer(t, "--maxmemory", "100mb")
	client := server.Client()
	s := storeOn(t, client, nil)
	r := created(t, s, claim("before"))
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"} {
		check.Must(t, client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		age(t, s, 10)
		_, ok, err := s.Create(t.Context(), claim("a"), time.Now(), nil)
		var evicts *EvictionError
		if ok || !errors.As(err, &evicts) || evicts.Policy != policy || errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%s: ok %v, %v", policy, ok, err)
		}
		check.Equal(t, client.Exists(t.Context(), "once:a").Val(), 0, policy, "the claim is written")
		check.Must(t, client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	}
	// A running call can be finished under any policy.
	check.Must(t, client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	changed(t, s, r, completed("1"))
	if met, ok, err := s.Create(t.Context(), claim("before"), time.Now(), nil); ok || err != nil || string(met.Data) != "1" {
		t.Errorf("a duplicate: ok %v, %v, %v", ok, met, err)
	}
}

func TestTakeoverIsRefusedWhereLiveClaimsMayBeEvicted(t *testing.T) {
	server := newServer(t, "--maxmemory", "100mb")
	client := server.Client()
	s := storeOn(t, client, nil)
	r := created(t, s, claim("a"))
	over := driver.Change{Owner: "bob", Lease: r.Lease.Add(time.Minute), Expires: r.Expires.Add(time.Minute)}
	for _, c := range []struct {
		policy string
		ok     bool
	}{{"volatile-lru", false}, {"noeviction", true}} { // each ten seconds after the claim
		check.Must(t, client.ConfigSet(t.Context(), "maxmemory-policy", c.policy).Err())
		age(t, s, 10)
		_, ok, err := s.Change(t.Context(), fenceOf(r), over)
		check.Equal(t, ok, c.ok, c.policy)
		if evicts := (*EvictionError)(nil); errors.As(err, &evicts) == c.ok {
			t.Errorf("%s: %v", c.policy, err)
		}
	}
}

func TestAPolicyThatIsNotReadableIsReportedOnce(t *testing.T) {
	server := newServer(t)
	check.Must(t, server.Client().Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~once:*", "+@all", "-info", "-config").Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "app", Password: "secret"})
	defer client.Close()
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	s := storeOn(t, client, nil)
	created(t, s, claim("a"))
	r := created(t, s, claim("b"))
	over := driver.Change{Owner: "bob", Lease: r.Lease.Add(time.Minute), Expires: r.Expires.Add(time.Minute)}
	if met, ok, err := s.Change(t.Context(), fenceOf(r), over); !ok || err != nil || met.Attempt != 2 {
		t.Errorf("a takeover: ok %v, %+v, %v", ok, met, err)
	}
	check.Equal(t, strings.Count(log.String(), "maxmemory-policy"), 1, &log)
}

// With the memory full, claims are refused and nothing is lost: running calls can still be
// recorded.
func TestRunningCallsAreRecordedWithTheMemoryFull(t *testing.T) {
	server := newServer(t)
	s := storeOn(t, server.Client(), nil)
	r := created(t, s, claim("a"))
	over := claim("over")
	over.Lease, over.Expires = time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)
	created(t, s, over)
	check.Must(t, server.Client().ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, ok, err := s.Create(t.Context(), claim("b"), time.Now(), nil)
	if ok || !errors.Is(err, driver.ErrThrottled) || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("a claim: ok %v, %v", ok, err)
	}
	met, ok, err := s.Create(t.Context(), claim("a"), time.Now(), nil)
	if ok || err != nil || met.Owner != "alice" {
		t.Errorf("a claim on a running one: ok %v, %v, %v", ok, met, err)
	}
	for _, c := range []driver.Change{
		{Lease: r.Lease.Add(time.Minute), Expires: r.Expires.Add(time.Minute)},
		{Steps: map[string][]byte{"charge": bytes.Repeat([]byte("x"), 1<<10)}},
		completed(strings.Repeat("x", 10<<10)),
	} {
		changed(t, s, r, c)
	}
}

func completed(data string) driver.Change {
	return driver.Change{Status: driver.Completed, Data: []byte(data), Expires: time.Now().Add(time.Hour)}
}
