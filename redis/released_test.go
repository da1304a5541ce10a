package redis

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
)

// released is a store with the scripts of version 0.1.0, and their arguments. It is for
// changes that are valid.
type released struct {
	t      *testing.T
	client redis.Scripter
	prefix string
}

func (s released) run(ctx context.Context, script, id string, args []any) (driver.Record, bool, error) {
	var source strings.Builder
	source.WriteString("local replicated = false\n")
	for _, name := range []string{"prelude", script} {
		text, err := os.ReadFile("testdata/0.1.0/" + name + ".lua")
		must(s.t, err)
		source.Write(text)
	}
	answer, err := redis.NewScript(source.String()).Run(ctx, s.client, []string{s.prefix + id}, args...).Slice()
	if err != nil {
		return driver.Record{}, false, err
	}
	r, err := record(id, answer[1].([]any))
	return r, answer[0].(int64) != codeMet, err
}

func (s released) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if err := checkCreate(r, with); err != nil {
		return driver.Record{}, false, err
	}
	r.Lease, r.Expires, r.Steps = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires), nil
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	met, ok, err := s.run(ctx, "create", r.ID, fields([]any{seconds(cutoff), millis(cutoff)}, r))
	if ok {
		return r, true, nil
	}
	return met, false, err
}

func (s released) Get(ctx context.Context, id string) (driver.Record, error) {
	if id == "" {
		return driver.Record{}, &driver.InvalidWriteError{Reason: "a record needs an id"}
	}
	r, _, err := s.run(ctx, "get", id, nil)
	return r, err
}

func (s released) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if err := c.Validate(f); err != nil {
		return driver.Record{}, false, err
	}
	if err := check(c.With, c.Lease, c.Expires); err != nil {
		return driver.Record{}, false, err
	}
	r := driver.Record{ID: f.ID, Status: driver.InProgress, Owner: f.Owner,
		Lease: driver.WholeMillis(c.Lease), Expires: driver.WholeSeconds(c.Expires)}
	script, args := "extend", []any{f.Owner, "", "", "", c.Fingerprint}
	if c.Owner != "" {
		r.Owner, args = c.Owner, []any{f.Owner, c.Owner, number(f.Attempt), millis(f.Lease), c.Fingerprint}
	}
	switch {
	case c.Release == driver.ReleaseDelete:
		script, r = "delete", driver.Record{}
	case c.Release != 0:
		script, r.Owner, r.Lease = "keep", "", driver.LeaseEnded
		args = append(args, map[driver.Release]string{driver.ReleaseKeep: "0", driver.ReleaseRefund: "1"}[c.Release])
	case c.Status != driver.Absent:
		script, r.Status, r.Data, r.Payload, r.Unavailable = "finish", c.Status, c.Data, c.Payload, c.Unavailable
		args = pairs(args, r, "")
	case len(c.Steps) > 0:
		script, r.Steps = "step", c.Steps
		args = pairs(steps(args, c.Steps), driver.Record{Expires: r.Expires}, "")
	default:
		if c.Owner != "" {
			script = "takeover"
		}
		args = pairs(args, driver.Record{Lease: r.Lease, Expires: r.Expires}, "")
	}
	met, ok, err := s.run(ctx, script, f.ID, args)
	if ok && script != "takeover" {
		return r, true, nil
	}
	return met, ok, err
}

// Each call goes to a version by chance.
type mixed []driver.Store

func (m mixed) any() driver.Store { return m[rand.IntN(len(m))] }

func (m mixed) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return m.any().Create(ctx, r, cutoff, with)
}

func (m mixed) Get(ctx context.Context, id string) (driver.Record, error) {
	return m.any().Get(ctx, id)
}

func (m mixed) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return m.any().Change(ctx, f, c)
}

func TestTwoVersionsOnOneServerConform(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s, client := newStore(t)
		old := released{t, client, s.options.Prefix}
		return storetest.Harness{Store: mixed{s, old}, Plant: plant(s, client), Schedules: 20}
	})
}

// deadlineOf returns when the server deletes the key of record a. Without an effect of a
// write, that is within the minute.
func deadlineOf(t *testing.T, s *Store, client *redis.Client) string {
	t.Helper()
	left, err := client.PTTL(t.Context(), s.options.Prefix+"a").Result()
	must(t, err)
	switch {
	case left < 0:
		return "never"
	case left <= time.Minute:
		return "as before"
	}
	return time.Now().Add(left).UTC().Round(time.Hour).String()
}

// Each write stores the same fields in both versions, and the key lives as long.
func TestWritesAreStoredAsVersion010StoresThem(t *testing.T) {
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	held := driver.Record{ID: "a", Status: driver.InProgress, Owner: "alice", Attempt: 2, Refunds: 1,
		Fingerprint: "f", Lease: at, Expires: at.Add(time.Hour)}
	stepped, ended, foreign, forever := held, held, held, held
	stepped.Steps = map[string][]byte{"s": []byte("1"), "t": nil}
	ended.Owner, ended.Lease, ended.Fingerprint = "", driver.LeaseEnded, ""
	foreign.Attempt, foreign.Refunds, foreign.Fingerprint = 0, 0, ""
	forever.Expires = time.Time{}
	later := at.Add(24 * time.Hour)
	overtake := driver.Change{Owner: "bob", Lease: later, Expires: later, Fingerprint: "g"}
	for name, c := range map[string]struct {
		stored driver.Record
		change driver.Change
	}{
		"extend":                       {held, driver.Change{Lease: later, Expires: later}},
		"extend the lease alone":       {held, driver.Change{Lease: later}},
		"extend backwards":             {held, driver.Change{Lease: at}},
		"step":                         {stepped, driver.Change{Steps: map[string][]byte{"t": []byte("2"), "u": nil}, Expires: later}},
		"step of one without an end":   {forever, driver.Change{Steps: map[string][]byte{"t": []byte("2")}}},
		"finish":                       {stepped, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: later}},
		"fail without a new end":       {held, driver.Change{Status: driver.Failed, Payload: "p"}},
		"finish with nothing":          {forever, driver.Change{Status: driver.Completed}},
		"keep":                         {stepped, driver.Change{Release: driver.ReleaseKeep}},
		"refund":                       {foreign, driver.Change{Release: driver.ReleaseRefund}},
		"delete":                       {held, driver.Change{Release: driver.ReleaseDelete}},
		"delete with steps":            {stepped, driver.Change{Release: driver.ReleaseDelete}},
		"take over":                    {stepped, overtake},
		"take over without an attempt": {foreign, overtake},
		"take over a released one":     {ended, overtake},
		"adopt":                        {ended, driver.Change{Owner: "bob", Status: driver.Completed, Data: []byte("1"), Expires: later, Fingerprint: "g"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := newStore(t)
			old := released{t, client, s.options.Prefix}
			var got [2][]string
			for n, version := range []driver.Store{old, s} {
				plant(s, client)(t, c.stored)
				must(t, client.PExpire(t.Context(), s.options.Prefix+"a", time.Minute).Err())
				_, ok, err := version.Change(t.Context(), fenceOf(c.stored), c.change)
				must(t, err)
				hash, err := client.HGetAll(t.Context(), s.options.Prefix+"a").Result()
				must(t, err)
				for field, value := range hash {
					got[n] = append(got[n], field+"="+value)
				}
				slices.Sort(got[n])
				got[n] = append(got[n], map[bool]string{true: "applied", false: "met"}[ok], deadlineOf(t, s, client))
			}
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("version 0.1.0 stores\n\t%q\nthis one\n\t%q", got[0], got[1])
			}
		})
	}
}
