package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

var now = time.Date(2090, 1, 2, 3, 4, 5, 678e6, time.UTC)

const owner, rival = "owner-1", "owner-2"

func claim(id, owner string) driver.Record {
	return driver.Record{
		ID: id, Status: driver.InProgress, Owner: owner, Attempt: 1,
		Lease: now.Add(time.Minute), Expires: driver.WholeSeconds(now.Add(time.Hour)), Began: now, Fingerprint: "f",
	}
}

func fence(r driver.Record) driver.Fence {
	return driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}
}

func complete(data string) driver.Change {
	return driver.Change{Status: driver.Completed, Data: []byte(data), Expires: now.Add(time.Hour)}
}

func takeover(owner string) driver.Change {
	return driver.Change{Owner: owner, Lease: now.Add(time.Hour), Expires: now.Add(2 * time.Hour)}
}

func create(t *testing.T, s *Store, r driver.Record) {
	t.Helper()
	if met, ok, err := s.Create(t.Context(), r, now, nil); err != nil || !ok {
		t.Fatalf("Create: ok %v, %v; met %+v", ok, err, met)
	}
}

func get(t *testing.T, s *Store, id string) driver.Record {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	check.Must(t, err)
	return r
}

// A statement that has waited returns the record as of before its wait. In
// each case a transaction of a rival has written the record and is not committed
// when the write under test begins.
func TestWriteThatWaitedForAnotherMeetsWhatThatOneLeft(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	lapsed := claim("", owner)
	lapsed.Lease, lapsed.Expires = now.Add(-time.Hour), now.Add(-time.Minute)
	type outcome struct {
		ok            bool
		status        driver.Status
		owner         string
		rollbackOwner string // if the rival rolls back
	}
	for _, c := range []struct {
		name   string
		before driver.Record // Absent: no record
		rival  func(id string) statement
		write  func(ctx context.Context, id string) (driver.Record, bool, error)
		want   outcome
	}{
		{"a claim, for a claim", driver.Record{},
			func(id string) statement { return s.layout.create(claim(id, rival), now) },
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Create(ctx, claim(id, owner), now, nil)
			}, outcome{false, driver.InProgress, rival, owner}},
		{"a claim of an expired record, for a claim", lapsed,
			func(id string) statement { return s.layout.create(claim(id, rival), now) },
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Create(ctx, claim(id, "third"), now, nil)
			}, outcome{false, driver.InProgress, rival, "third"}},
		{"a completion, for a takeover", claim("", owner),
			func(id string) statement {
				r := claim(id, owner)
				return s.layout.change(fence(r), takeover(rival))
			},
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Change(ctx, driver.Fence{ID: id, Owner: owner}, complete("mine"))
			}, outcome{false, driver.InProgress, rival, owner}},
		{"a takeover, for a completion", claim("", owner),
			func(id string) statement { return s.layout.change(driver.Fence{ID: id, Owner: owner}, complete("1")) },
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Change(ctx, fence(claim(id, owner)), takeover(rival))
			}, outcome{false, driver.Completed, owner, rival}},
		{"a completion, for a deletion", claim("", owner),
			func(id string) statement {
				return s.layout.change(driver.Fence{ID: id, Owner: owner}, driver.Change{Release: driver.ReleaseDelete})
			},
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Change(ctx, driver.Fence{ID: id, Owner: owner}, complete("mine"))
			}, outcome{false, driver.Absent, "", owner}},
		{"a claim of an expired record, for its deletion", lapsed,
			func(string) statement { return s.layout.sweep(now, 10) },
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Create(ctx, claim(id, "third"), now, nil)
			}, outcome{true, driver.InProgress, "third", "third"}},
		{"a heartbeat, for a step", claim("", owner),
			func(id string) statement {
				return s.layout.change(driver.Fence{ID: id, Owner: owner}, driver.Change{Steps: map[string][]byte{"a": nil}})
			},
			func(ctx context.Context, id string) (driver.Record, bool, error) {
				return s.Change(ctx, driver.Fence{ID: id, Owner: owner}, driver.Change{Lease: now.Add(time.Hour)})
			}, outcome{true, driver.InProgress, owner, owner}},
	} {
		for _, commit := range []bool{true, false} {
			name := c.name
			if !commit {
				name += " that is rolled back"
			}
			t.Run(name, func(t *testing.T) {
				id := t.Name()
				if c.before.Status != driver.Absent {
					r := c.before
					r.ID = id
					s.plant(t, r)
				}
				got, ok, err := during(t, pool, c.rival(id), commit, func() (driver.Record, bool, error) {
					return c.write(t.Context(), id)
				})
				want := c.want
				if !commit {
					want.ok, want.owner = true, c.want.rollbackOwner
				}
				if err != nil || ok != want.ok || got.Owner != want.owner || commit && got.Status != want.status {
					t.Errorf("ok %v, %s of %q, %v; want %+v", ok, got.Status, got.Owner, err, want)
				}
				if stored := get(t, s, id); stored.Status != got.Status || stored.Owner != got.Owner || stored.Attempt != got.Attempt && !ok {
					t.Errorf("returned %+v, stored %+v", got, stored)
				}
			})
		}
	}
}

// during makes a write while a transaction that has executed st is open. It ends
// the transaction when the write waits for it.
func during(t *testing.T, pool *pgxpool.Pool, st statement, commit bool, write func() (driver.Record, bool, error)) (r driver.Record, ok bool, err error) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	check.Must(t, err)
	_, err = tx.Exec(t.Context(), st.sql, st.args...)
	check.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, ok, err = write()
	}()
	waitForLock(t, pool)
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	check.Nil(t, end(t.Context()))
	<-done
	return r, ok, err
}

// waitForLock returns when a statement of this database waits for a lock.
func waitForLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for waiting := false; !waiting; {
		err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
		check.Must(t, err)
	}
}

// Somebody may end a lease by hand.
func TestLeaseWithMicrosecondsIsTakenOver(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	create(t, s, claim("id", owner))
	execute(t, pool, `UPDATE idempotency SET lease = '2080-01-01 00:00:00.123456+00'`)
	met := get(t, s, "id")
	if r, ok, err := s.Change(t.Context(), fence(met), takeover(rival)); err != nil || !ok || r.Owner != rival {
		t.Errorf("ok %v, %v, %+v", ok, err, r)
	}
}
