package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis/redislocal"
)

// story makes every kind of write, and returns all answers.
func story(t *testing.T, s *Store) string {
	t.Helper()
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	note := func(what string) func(driver.Record, bool, error) {
		return func(r driver.Record, ok bool, err error) { fmt.Fprintf(&b, "%s: %v %v %s\n", what, ok, err, show(r)) }
	}
	id := "a\x00{b}"
	r := driver.Record{ID: id, Status: driver.InProgress, Owner: "alice", Attempt: 1, Lease: at, Expires: at.Add(time.Hour)}
	note("get")(one(s.Get(t.Context(), id)))
	note("create")(s.Create(t.Context(), r, at, nil))
	note("create again")(s.Create(t.Context(), r, at, nil))
	f := fenceOf(r)
	note("step")(s.Change(t.Context(), f, driver.Change{Steps: map[string][]byte{"s\xff": {0, 255}}}))
	note("extend")(s.Change(t.Context(), f, driver.Change{Lease: at.Add(time.Second), Expires: at.Add(time.Hour)}))
	note("extend back")(s.Change(t.Context(), f, driver.Change{Lease: at, Expires: at.Add(time.Hour)}))
	note("delete")(s.Change(t.Context(), f, driver.Change{Release: driver.ReleaseDelete}))
	note("refund")(s.Change(t.Context(), f, driver.Change{Release: driver.ReleaseRefund}))
	f = driver.Fence{ID: id, Attempt: 1, Lease: driver.LeaseEnded}
	note("take over")(s.Change(t.Context(), f, driver.Change{Owner: "bob", Lease: at.Add(time.Minute), Expires: at.Add(time.Hour), Fingerprint: "f"}))
	note("finish late")(s.Change(t.Context(), fenceOf(r), completed("1")))
	f.Owner = "bob"
	note("finish")(s.Change(t.Context(), f, completed("")))
	note("get")(one(s.Get(t.Context(), id)))
	r.Lease, r.Expires = at.AddDate(1, 0, 0), at.AddDate(1, 0, 0)
	note("create over an expired one")(s.Create(t.Context(), r, time.Now().AddDate(100, 0, 0), nil))
	note("delete")(s.Change(t.Context(), fenceOf(r), driver.Change{Release: driver.ReleaseDelete}))
	r.Expires = time.Time{}
	note("create for ever")(s.Create(t.Context(), r, at, nil))
	note("delete")(s.Change(t.Context(), fenceOf(r), driver.Change{Release: driver.ReleaseDelete}))
	return b.String()
}

func one(r driver.Record, err error) (driver.Record, bool, error) { return r, true, err }

func TestEveryClientGetsTheSameAnswers(t *testing.T) {
	server := redislocal.NewServer(t, nil)
	_, prefix := redislocal.NewClient(t)
	want := story(t, storeOn(t, server.Client(), &Options{Prefix: prefix}))
	for name, client := range map[string]redis.UniversalClient{
		"RESP2":           redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2}),
		"without retries": redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1}),
		"one connection":  redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 1}),
		"universal":       redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{server.Addr()}}),
	} {
		t.Run(name, func(t *testing.T) {
			defer client.Close()
			check.Equal(t, story(t, storeOn(t, client, &Options{Prefix: prefix + name})), want)
		})
	}
}

func TestClientsThatWouldLoseClaimsAreRefused(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: time.Second})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for name, c := range map[string]struct {
		client  Client
		options *Options
		reason  string
	}{
		"none":                     {nil, nil, "nil"},
		"a ring":                   {ring, nil, "Ring"},
		"a pipeline":               {client.Pipeline(), nil, "Pipeliner"},
		"a wrapper, with replicas": {struct{ Client }{client}, &Options{Replicas: 1}, "Replicas"},
		"too long a wait":          {client, &Options{Replicas: 1, WaitTimeout: time.Second}, "ReadTimeout"},
		"too short a wait":         {client, &Options{Replicas: 1, WaitTimeout: time.Microsecond}, "millisecond"},
		"negative replicas":        {client, &Options{Replicas: -1}, "negative"},
	} {
		s, err := New(c.client, c.options)
		var invalid *driver.ConfigError
		if s != nil || !errors.As(err, &invalid) || !strings.Contains(invalid.Error(), c.reason) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := New(nil, &Options{Replicas: -1, WaitTimeout: time.Microsecond})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"client", "Replicas", "WaitTimeout"} {
		check.Says(t, err, want)
	}
}
