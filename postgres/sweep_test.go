package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// expired returns a finished record that expired before now.
func expired(id string, age time.Duration) driver.Record {
	return driver.Record{ID: id, Status: driver.Completed, Owner: owner, Attempt: 1, Expires: driver.WholeSeconds(now.Add(-age))}
}

func TestSweepContinuesAfterAnInterruption(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	const all = 3*maxSweep + 100
	insertExpired(t, pool, all)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	interrupted := &Store{db: through(pool, func(n int, _ string) error {
		if n == 2 {
			cancel()
		}
		return nil
	}), layout: s.layout}
	deleted, err := sweepAll(ctx, interrupted, all)
	if deleted != 2*maxSweep || err == nil {
		t.Fatalf("deleted %d, %v; want %d, with the transaction under way, and an error", deleted, err, 2*maxSweep)
	}
	if deleted, err = sweepAll(t.Context(), s, 200); deleted != 200 || err != nil {
		t.Fatalf("deleted %d, %v; want the limit", deleted, err)
	}
	check.Equal(t, get(t, s, fmt.Sprint("expired-", 2*maxSweep+200)).Status, driver.Absent, "the records that expired first are not deleted first")
	if deleted, err = sweepAll(t.Context(), s, all); deleted != all-2*maxSweep-200 || err != nil {
		t.Fatalf("deleted %d, %v; want the rest", deleted, err)
	}
}

// sweepAll sweeps up to limit records, page by page.
func sweepAll(ctx context.Context, s *Store, limit int) (deleted int, err error) {
	for more := "more"; more != "" && deleted < limit; {
		n, p, failed := s.Sweep(ctx, now, limit-deleted, "")
		if deleted, more = deleted+n, p.Next; failed != nil {
			return deleted, failed
		}
	}
	return deleted, nil
}

// insertExpired inserts records of which each expired a second after the one
// before it.
func insertExpired(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `INSERT INTO idempotency (id, status, expires)
		SELECT 'expired-' || i, 'COMPLETED', $1::timestamptz + i * interval '1 second' FROM generate_series(1, $2::int) AS i`,
		now.AddDate(-1, 0, 0), n)
	check.Must(t, err)
}

// patient makes a statement that waits for a lock fail, so that the test does not hang.
func patient(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "1000" }

// sweeping begins a transaction that has deleted a batch, and is not committed.
func sweeping(t *testing.T, pool *pgxpool.Pool, s *Store, batch int) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	check.Must(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	st := s.layout.sweep(now, batch)
	_, err = tx.Exec(t.Context(), st.sql, st.args...)
	check.Must(t, err)
	return tx
}

func TestSweepsAtOnceDeleteDifferentRecords(t *testing.T) {
	pool := newPool(t, patient)
	s := newStore(t, pool, nil)
	const all = 2*maxSweep + 100
	insertExpired(t, pool, all)
	first := sweeping(t, pool, s, maxSweep)
	deleted, err := sweepAll(t.Context(), s, all)
	check.Nil(t, err)
	check.Equal(t, deleted, all-maxSweep, "beside another sweep")
	check.Nil(t, first.Commit(t.Context()))
	deleted, err = sweepAll(t.Context(), s, all)
	check.Nil(t, err)
	check.Equal(t, deleted, 0, "after both")
}

// Such as one that a client has locked before it vanished.
func TestSweepPassesALockedRecordAndALaterOneDeletesIt(t *testing.T) {
	pool := newPool(t, patient)
	s := newStore(t, pool, nil)
	insertExpired(t, pool, 3)
	tx := sweeping(t, pool, s, 1)
	deleted, p, err := s.Sweep(t.Context(), now, 10, "")
	check.Nil(t, err)
	check.Equal(t, deleted, 2, "with a locked record")
	check.Equal(t, p.Next, "", "with a locked record")
	check.Nil(t, tx.Rollback(t.Context()))
	deleted, _, err = s.Sweep(t.Context(), now, 10, "")
	check.Nil(t, err)
	check.Equal(t, deleted, 1, "after the lock")
}

// A sweep has found a record when it is claimed again, and waits for that claim. Aurora DSQL
// has no lock that a sweep could pass.
func TestSweepLeavesARecordThatIsClaimedAgain(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	s.layout.dsql = true
	s.plant(t, expired("id", time.Hour))
	_, _, err := during(t, pool, s.layout.create(claim("id", rival), now), true, func() (driver.Record, bool, error) {
		deleted, _, err := s.Sweep(t.Context(), now, 10, "")
		check.Equal(t, deleted, 0, "deleted")
		return driver.Record{}, false, err
	})
	if got := get(t, s, "id"); err != nil || got.Owner != rival {
		t.Errorf("%v; stored %+v", err, got)
	}
}

// The record is found in the first batch, before all that remain.
func TestSweepContinuesAfterARecordThatIsClaimedAgain(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	s.layout.dsql = true
	const all = 2 * maxSweep
	insertExpired(t, pool, all)
	first := fmt.Sprint("expired-", 1)
	_, _, err := during(t, pool, s.layout.create(claim(first, rival), now), true, func() (driver.Record, bool, error) {
		deleted, err := sweepAll(t.Context(), s, 10*all)
		check.Equal(t, deleted, all-1, "deleted")
		return driver.Record{}, false, err
	})
	check.Nil(t, err)
	if page, err := s.Scan(t.Context(), driver.Filter{Expired: now}, ""); len(page.Entries) != 0 || err != nil {
		t.Errorf("%d expired records are left, %v", len(page.Entries), err)
	}
}

// Such as by row-level security that shows a record and does not let it go.
func TestSweepEndsWhereATriggerKeepsWhatItFinds(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	s.plant(t, expired("id", time.Hour))
	execute(t, pool,
		`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER keep BEFORE DELETE ON idempotency FOR EACH ROW EXECUTE FUNCTION keep()`,
	)
	for limit, want := range []error{nil, errKept} {
		deleted, _, err := s.Sweep(t.Context(), now, limit, "")
		check.Equal(t, deleted, 0)
		check.Is(t, err, want, "limit", limit)
	}
}

func TestSweepReadsTheIndex(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	insertExpired(t, pool, 5000)
	execute(t, pool, "ANALYZE idempotency")
	st := s.layout.sweep(now.AddDate(-1, 0, 0).Add(100*time.Second), 50)
	plan := explain(t, pool, st)
	check.Contains(t, plan, `Index Scan using idempotency_expires`)
}
