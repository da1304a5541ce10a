package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
)

// released is a store with the statements of version 0.1.0, and their arguments. It is for
// changes that are valid.
type released struct {
	*Store
	t *testing.T
}

// send runs a statement, which returns true and the record that it has written, or false and
// the one that it has met.
func (s released) send(ctx context.Context, name string, args pgx.NamedArgs) (r row, ok bool, err error) {
	text, err := os.ReadFile("testdata/0.1.0/" + name + ".sql")
	must(s.t, err)
	rows, err := s.db.Query(ctx, strings.ReplaceAll(string(text), `"idempotency"`, s.layout.table), args)
	if err != nil {
		return row{}, false, err
	}
	defer rows.Close()
	if rows.Next() {
		if r, err = scan(rows, &ok); err != nil {
			return row{}, false, err
		}
	}
	rows.Close()
	return r, ok, rows.Err()
}

func (s released) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	if _, err := attachmentFor(with, r.Status, r.Validate()); err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	r = s.layout.fit(r)
	args := pgx.NamedArgs{"id": encodeText(r.ID), "cutoff": whenSeconds(cutoff), "cutoff_millis": whenMillis(cutoff)}
	for n, v := range s.layout.values(r) {
		args[strings.Trim(s.layout.columns[n+1].name, `"`)] = v
	}
	met, ok, err := s.write(ctx, "Create", func() (row, bool, error) { return s.send(ctx, "create", args) }, func(met row) bool {
		return met.Status == driver.Absent || !cutoff.IsZero() && met.Expired(cutoff)
	})
	if ok {
		return r, true, nil
	}
	return met.Record, false, err
}

func (s released) Get(ctx context.Context, id string) (driver.Record, error) {
	if id == "" {
		return driver.Record{}, s.refused("Get", &driver.InvalidWriteError{Reason: "a record needs an id"})
	}
	r, _, err := s.send(ctx, "get", pgx.NamedArgs{"id": encodeText(id)})
	return r.Record, err
}

func (s released) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if _, err := attachmentFor(c.With, c.Status, c.Validate(f)); err != nil {
		return driver.Record{}, false, s.refused("Change", err)
	}
	c.Data, c.Unavailable = s.layout.fitResult(c.Data, c.Unavailable)
	lease, steps := whenMillis(c.Lease), encodeSteps(c.Steps)
	name := "extend"
	switch {
	case c.Release == driver.ReleaseDelete:
		name = "delete"
	case c.Release != 0:
		lease = driver.LeaseEnded
		name = map[driver.Release]string{driver.ReleaseKeep: "keep", driver.ReleaseRefund: "refund"}[c.Release]
	case c.Status != driver.Absent && c.Owner != "":
		name = "adopt"
	case c.Status != driver.Absent:
		name = "finish"
	case len(c.Steps) > 0:
		name = "step"
	case c.Owner != "":
		name = "takeover"
	}
	if !c.Expires.IsZero() {
		name += "-expires"
	}
	args := pgx.NamedArgs{
		"id": encodeText(f.ID), "fence_owner": encodeText(f.Owner), "fence_attempt": f.Attempt, "fence_lease": whenMillis(f.Lease),
		"status": string(c.Status), "owner": encodeText(c.Owner), "lease": lease, "expires": whenSeconds(c.Expires),
		"fingerprint": encodeText(c.Fingerprint), "payload": encodeText(c.Payload), "unavailable": encodeText(c.Unavailable),
		"data": bytesOf(c.Data), "steps": steps, "most": s.layout.maxSize - len(steps),
	}
	met, ok, err := s.write(ctx, "Change", func() (row, bool, error) { return s.send(ctx, name, args) }, func(met row) bool {
		return f.Holds(met.Record, c) && s.layout.checkSize(met, c) == nil
	})
	switch {
	case ok && !isTakeover(c):
		return written(f, c), true, nil
	case err == nil && !ok && f.Holds(met.Record, c):
		return driver.Record{}, false, s.refused("Change", s.layout.checkSize(met, c))
	}
	return met.Record, ok, err
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

func TestTwoVersionsOnOneTableConform(t *testing.T) {
	pool := newPool(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := storeIn(t, pool, fmt.Sprint("t", rand.Uint64()), nil)
		return storetest.Harness{Store: mixed{s, released{s, t}}, Plant: s.plant, Schedules: 20}
	})
}

// A record that one version has claimed is met, taken over and finished by the other one.
func TestRecordsPassFromVersionToVersion(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	old := released{s, t}
	for name, pair := range map[string][2]driver.Store{"from 0.1.0": {old, s}, "to 0.1.0": {s, old}} {
		t.Run(name, func(t *testing.T) {
			first, second := pair[0], pair[1]
			claimed := claim(name, owner)
			_, ok, err := first.Create(t.Context(), claimed, now, nil)
			must(t, err)
			equal(t, ok, true, "the claim: ")
			met, ok, err := second.Create(t.Context(), claim(name, rival), now, nil)
			must(t, err)
			equal(t, ok, false, "a duplicate: ")
			equal(t, met.Owner, owner, "the duplicate meets: ")
			_, ok, err = second.Change(t.Context(), fence(claimed), takeover(rival))
			must(t, err)
			equal(t, ok, true, "the takeover: ")
			met, ok, err = first.Change(t.Context(), fence(claimed), complete("late"))
			must(t, err)
			equal(t, ok, false, "a late completion: ")
			equal(t, met.Owner, rival, "the late completion meets: ")
			_, ok, err = second.Change(t.Context(), driver.Fence{ID: name, Owner: rival}, complete("1"))
			must(t, err)
			equal(t, ok, true, "the completion: ")
			met, ok, err = first.Create(t.Context(), claim(name, "third"), now, nil)
			must(t, err)
			equal(t, ok, false, "a later call: ")
			equal(t, string(met.Data), "1", "the later call meets: ")
		})
	}
}

// storedBy returns record "a" as SQL shows it, after a write by a version.
func storedBy(t *testing.T, s *Store, write func() (driver.Record, bool, error)) (stored string) {
	t.Helper()
	_, ok, err := write()
	must(t, err)
	rows, err := s.db.Query(t.Context(), "SELECT r::text FROM idempotency r WHERE id = 'a'")
	must(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return strings.Join(texts, "\n") + map[bool]string{true: " applied", false: " met"}[ok]
}

// Each write stores the same row in both versions.
func TestWritesAreStoredAsVersion010StoresThem(t *testing.T) {
	held := claim("a", owner)
	held.Attempt, held.Refunds = 2, 1
	stepped, lapsed, ended, forever, spent := held, held, held, held, expired("a", time.Hour)
	stepped.Steps = map[string][]byte{"s": []byte("1"), "t": nil}
	lapsed.Lease, lapsed.Expires = now.Add(-time.Hour), now.Add(-time.Minute)
	ended.Owner, ended.Lease, ended.Fingerprint = "", driver.LeaseEnded, ""
	forever.Expires = time.Time{}
	finished := claim("a", rival)
	finished.Status, finished.Data = driver.Completed, []byte("1")
	later := now.Add(24 * time.Hour)
	overtake := takeover(rival)
	overtake.Fingerprint = "g"
	adopt := complete("1")
	adopt.Owner = rival
	create := func(r driver.Record) func(driver.Store, driver.Fence) (driver.Record, bool, error) {
		return func(s driver.Store, _ driver.Fence) (driver.Record, bool, error) {
			return s.Create(t.Context(), r, now, nil)
		}
	}
	change := func(c driver.Change) func(driver.Store, driver.Fence) (driver.Record, bool, error) {
		return func(s driver.Store, f driver.Fence) (driver.Record, bool, error) { return s.Change(t.Context(), f, c) }
	}
	s := newStore(t, newPool(t), nil)
	for name, c := range map[string]struct {
		stored driver.Record
		write  func(driver.Store, driver.Fence) (driver.Record, bool, error)
	}{
		"claim":                        {driver.Record{ID: "a"}, create(claim("a", rival))},
		"claim of one that is held":    {held, create(claim("a", rival))},
		"claim of one that lapsed":     {lapsed, create(claim("a", rival))},
		"claim of one that is over":    {spent, create(claim("a", rival))},
		"create a finished one":        {driver.Record{ID: "a"}, create(finished)},
		"extend":                       {held, change(driver.Change{Lease: later, Expires: later})},
		"extend the lease alone":       {held, change(driver.Change{Lease: later})},
		"extend backwards":             {held, change(driver.Change{Lease: now})},
		"step":                         {stepped, change(driver.Change{Steps: map[string][]byte{"t": []byte("2"), "u": nil}, Expires: later})},
		"step without a new end":       {held, change(driver.Change{Steps: map[string][]byte{"t": []byte("2")}})},
		"finish":                       {stepped, change(complete("1"))},
		"fail without a new end":       {held, change(driver.Change{Status: driver.Failed, Payload: "p"})},
		"finish one without an end":    {forever, change(driver.Change{Status: driver.Completed, Unavailable: "u"})},
		"keep":                         {stepped, change(driver.Change{Release: driver.ReleaseKeep})},
		"refund":                       {held, change(driver.Change{Release: driver.ReleaseRefund})},
		"delete":                       {held, change(driver.Change{Release: driver.ReleaseDelete})},
		"delete with steps":            {stepped, change(driver.Change{Release: driver.ReleaseDelete})},
		"take over":                    {stepped, change(overtake)},
		"take over a released one":     {ended, change(overtake)},
		"adopt":                        {ended, change(adopt)},
		"write to one that is not run": {spent, change(complete("2"))},
	} {
		t.Run(name, func(t *testing.T) {
			var got [2]string
			for n, version := range []driver.Store{released{s, t}, s} {
				s.plant(t, c.stored)
				got[n] = storedBy(t, s, func() (driver.Record, bool, error) { return c.write(version, fence(c.stored)) })
			}
			equal(t, got[1], got[0])
		})
	}
}
