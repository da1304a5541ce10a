package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/idempotent/driver"
)

// maxSweep bounds the records of one statement. Aurora DSQL allows 3,000 rows in a
// transaction, and a short one delays no claim.
const maxSweep = 500

// Sweep deletes records that expired before cutoff, at most limit of them and 500, the
// oldest first: see [driver.Sweeper]. It finds them by an index, and ignores the position.
// Progress.Next is "" if no such record is left, but for those that another transaction has
// locked, such as a concurrent sweep or a client that has vanished: Sweep passes them, and
// a later one finds them. Aurora DSQL has no such locks, so there the slower one of two
// sweeps may fail with a conflict. PostgreSQL has no TTL: without a sweep from time to time,
// the table only grows. The role also needs UPDATE, which a lock requires.
//
// Each call is a transaction of its own.
func (s *Store) Sweep(ctx context.Context, cutoff time.Time, limit int, _ string) (deleted int, p driver.Progress, err error) {
	switch err := ctx.Err(); {
	case err != nil:
		return 0, p, s.fail("Sweep", err)
	case limit < 1:
		return 0, p, nil
	}
	sending, cancel := driver.Linger(ctx)
	defer cancel()
	batch := min(limit, maxSweep)
	p.Read, deleted, err = s.sweep(sending, cutoff, batch)
	switch {
	case err != nil || p.Read < batch:
		return deleted, p, err
	case deleted == 0:
		return 0, p, s.fail("Sweep", errKept)
	}
	p.Next = "more"
	return deleted, p, nil
}

var errKept = errors.New("expired records are found and not deleted; look for a trigger or a policy of row-level security that keeps them")

// sweep deletes one batch. It returns how many records it found, and how many it deleted.
func (s *Store) sweep(ctx context.Context, cutoff time.Time, batch int) (found, deleted int, err error) {
	st := s.layout.sweep(cutoff, batch)
	err = retry(ctx, func() error {
		rows, err := s.db.Query(ctx, st.sql, st.args...)
		if err == nil {
			_, err = pgx.ForEachRow(rows, []any{&found, &deleted}, func() error { return nil })
		}
		return err
	})
	if err != nil {
		return 0, 0, s.fail("Sweep", err)
	}
	return found, deleted, nil
}

// sweep returns the statement that deletes a batch of expired records, and counts those
// that it found and those that it deleted. The lock keeps two sweeps from waiting for each
// other and then finding the same records deleted. The outer condition is for Aurora DSQL,
// which can lock one record by its key alone.
func (l *layout) sweep(cutoff time.Time, batch int) statement {
	p := &phrase{args: []any{whenSeconds(cutoff), whenMillis(cutoff)}}
	p.write(`WITH found AS (SELECT found."id" FROM `, l.table, " AS found WHERE ", l.expired("found", 1), ` ORDER BY found."expires" LIMIT `).arg(batch, "int")
	if !l.dsql {
		p.write(" FOR UPDATE SKIP LOCKED")
	}
	p.write("), deleted AS (DELETE FROM ", l.table, ` AS stored WHERE stored."id" IN (SELECT found."id" FROM found)`)
	p.write(" AND ", l.expired("stored", 1), " RETURNING 1)")
	p.write(" SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM deleted)")
	return p.statement()
}
