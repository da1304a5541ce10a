package postgres

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
)

// DB is the part of a connection pool that a [Store] calls. *pgxpool.Pool
// implements it. Other types should also have the method Stat of a *pgxpool.Pool: without
// it, transactions may use all connections, and steps and heartbeats wait for them.
type DB interface {
	// Acquire returns a connection for a transaction.
	Acquire(ctx context.Context) (*pgxpool.Conn, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// A Store keeps records in a table of PostgreSQL. It is safe for concurrent use if
// its DB is, as a *pgxpool.Pool is. Make one with [New].
type Store struct {
	db     DB
	layout *layout
	limit  *limit // of the transactions of db
}

// New returns a store in a table. New sends nothing: the first call shows whether
// the table fits the options. It returns a [*driver.ConfigError] for arguments that
// are not valid.
func New(db DB, table string, options *Options) (*Store, error) {
	var mistakes driver.Mistakes
	pool, ok := db.(*pgxpool.Pool)
	mistakes.If(db == nil || ok && pool == nil, "postgres: the pool is nil")
	l, err := options.layout(table, mistakes)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, layout: l, limit: limitOf(db)}, nil
}

// Get returns a record, or the zero Record if there is none. The connection must
// lead to the primary server: with an older state, package idempotent would decide
// on a record that has been finished since.
func (s *Store) Get(ctx context.Context, id string) (driver.Record, error) {
	if id == "" {
		return driver.Record{}, s.refused("Get", &driver.InvalidWriteError{Reason: "a record needs an id"})
	}
	if err := ctx.Err(); err != nil {
		return driver.Record{}, s.fail("Get", err)
	}
	if err := s.spare(ctx); err != nil {
		return driver.Record{}, s.fail("Get", err)
	}
	r, _, err := send(ctx, s.db, s.layout.read(id))
	if err != nil {
		return driver.Record{}, s.fail("Get", err)
	}
	return r.Record, nil
}

// Create writes r where there is no record or an expired one, as [driver.Store] requires. A
// finished record is written without lease and steps. Create writes Unavailable in place of a
// result that is larger than Options.MaxSize, and returns the record so. A request that is
// larger is an error that wraps [driver.ErrTooLarge], and nothing is written.
func (s *Store) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	a, err := attachmentFor(with, r.Status, r.Validate())
	if err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	if err := s.layout.checkRequest(r.Request); err != nil {
		return driver.Record{}, false, s.refused("Create", err)
	}
	r = s.layout.fit(r)
	if a != nil {
		met, ok, err := s.commit(ctx, a, recordWrite{op: "Create", id: r.ID, statement: s.layout.create(r, cutoff), owner: r.Owner, until: r.Expires})
		if ok {
			return r, true, nil
		}
		return met.Record, false, err
	}
	isExpired := func(met row) bool { return met.Status != driver.Absent && !cutoff.IsZero() && met.Expired(cutoff) }
	create := func() (row, bool, error) {
		return s.write(ctx, "Create", func() (row, bool, error) {
			met, ok, err := insert(ctx, s.db, s.layout.insert(r))
			if err == nil && isExpired(met) {
				ok, err = affects(ctx, s.db, s.layout.create(r, cutoff))
			}
			return met, ok, err
		}, func(met row) bool { return met.Status == driver.Absent || isExpired(met) })
	}
	met, ok, err := create()
	if r.Data != nil && isTooLarge(err) {
		r.Data, r.Unavailable = nil, refusedSize(r.Data)
		met, ok, err = create()
	}
	if ok {
		return r, true, nil
	}
	return met.Record, false, err
}

// Change makes one fenced write, as [driver.Store] requires. It writes
// Unavailable in place of a result that is larger than Options.MaxSize, and
// returns the record so. It returns an [*Error] for combinations of fields that
// the protocol does not use.
func (s *Store) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	a, err := attachmentFor(c.With, c.Status, c.Validate(f))
	if err != nil {
		return driver.Record{}, false, s.refused("Change", err)
	}
	c.Data, c.Unavailable = s.layout.fitResult(c.Data, c.Unavailable)
	if a != nil {
		met, ok, err := s.commit(ctx, a, recordWrite{op: "Change", id: f.ID, statement: s.layout.change(f, c)})
		if ok {
			return written(f, c), true, nil
		}
		return met.Record, false, err
	}
	change := func() (row, bool, error) {
		return s.write(ctx, "Change", func() (row, bool, error) { return s.change(ctx, f, c) }, func(met row) bool {
			return f.Holds(met.Record, c) && s.layout.checkSize(met, c) == nil
		})
	}
	met, ok, err := change()
	if c.Data != nil && isTooLarge(err) {
		c.Data, c.Unavailable = nil, refusedSize(c.Data)
		met, ok, err = change()
	}
	switch {
	case ok:
		return met.Record, true, nil
	case err == nil && f.Holds(met.Record, c):
		if err := s.layout.checkSize(met, c); err != nil {
			return driver.Record{}, false, s.refused("Change", err)
		}
	}
	return met.Record, false, err
}

// change applies c once. If the condition fails, it reads the record in a second round
// trip: in the same statement it would cost each write that succeeds.
func (s *Store) change(ctx context.Context, f driver.Fence, c driver.Change) (met row, ok bool, err error) {
	st := s.layout.change(f, c)
	if isTakeover(c) {
		met, ok, err = send(ctx, s.db, st)
	} else {
		ok, err = affects(ctx, s.db, st)
		met.Record = written(f, c)
	}
	if !ok && err == nil {
		met, _, err = send(ctx, s.db, s.layout.read(f.ID))
	}
	return met, ok, err
}

// written returns the record that a change has written, as far as [driver.Store] asks for
// it without a takeover.
func written(f driver.Fence, c driver.Change) driver.Record {
	r := driver.Record{
		ID: f.ID, Status: cmp.Or(c.Status, driver.InProgress), Owner: cmp.Or(c.Owner, f.Owner),
		Lease: driver.WholeMillis(c.Lease), Expires: driver.WholeSeconds(c.Expires),
		Data: c.Data, Payload: c.Payload, Unavailable: c.Unavailable, Steps: c.Steps,
	}
	switch c.Release {
	case 0:
	case driver.ReleaseDelete:
		return driver.Record{}
	default:
		r.Owner, r.Lease = "", driver.LeaseEnded
	}
	return r
}

// maxRounds bounds how often one write is sent after lost races, and in each of these
// after conflicts. In each race a different write of the record succeeds.
const maxRounds = 8

// write makes a conditional write by calling try. If the condition fails, it returns the
// stored record, on which the condition fails, too.
//
// The record is read before the write, as of the beginning of an insert, or after it.
// PostgreSQL decides about a write on the latest version, which may differ. If the
// condition fails on the record that was read, both agree. If it holds, a different write
// came between, and write tries again. If no try helps, something in the database suppresses
// the write. As a lost race it would look like a call in progress, for ever.
func (s *Store) write(
	ctx context.Context, op string, try func() (row, bool, error), holds func(row) bool,
) (met row, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return row{}, false, s.fail(op, err)
	}
	if err := s.spare(ctx); err != nil {
		// It is the attachment that refuses the write, for as long as it is open.
		return row{}, false, &driver.Rejected{Err: s.fail(op, err)}
	}
	for round := 1; ; round++ {
		err := retry(ctx, func() (err error) {
			met, ok, err = try()
			return err
		})
		switch {
		case err != nil:
			return row{}, false, s.fail(op, err)
		case ok || !holds(met):
			return met, ok, nil
		case round == maxRounds:
			return row{}, false, s.fail(op, errSuppressed)
		}
	}
}

var errSuppressed = errors.New("the condition of the write holds, and nothing is written; look for a trigger, a rule or a policy of row-level security that suppresses it")

// retry calls fn, and calls it again after a conflict.
//
// A statement that loses a conflict with 40001 or 40P01 has written nothing. On Aurora
// DSQL, and with other isolation levels than READ COMMITTED, all lost races are such
// conflicts.
func retry(ctx context.Context, fn func() error) error {
	for round := 1; ; round++ {
		if err := fn(); !isConflict(err) || round == maxRounds || !backoff(ctx, round) {
			return err
		}
	}
}

// backoff waits before a write that lost a conflict is sent again, and reports
// false if ctx ends before.
func backoff(ctx context.Context, round int) bool {
	wait := time.NewTimer(rand.N(time.Millisecond << round))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

var errUnfinished = &driver.InvalidWriteError{Reason: "a transaction is committed only together with a finished record"}

// attachmentFor returns the attachment of a write with this status, or why the write is
// refused.
func attachmentFor(with any, status driver.Status, invalid error) (attachment, error) {
	a, err := attachmentOf(with)
	if err == nil && a != nil && (status == driver.Absent || status == driver.InProgress) {
		err = errUnfinished
	}
	return a, cmp.Or(err, invalid)
}
