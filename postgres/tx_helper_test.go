package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// effects are rows that handlers write.
type effects struct {
	t    *testing.T
	pool *pgxpool.Pool
}

func newEffects(t *testing.T, pool *pgxpool.Pool) effects {
	t.Helper()
	execute(t, pool,
		"CREATE TABLE effects (id text PRIMARY KEY, n int NOT NULL CHECK (n >= 0))",
		"CREATE TABLE checked_late (id text UNIQUE DEFERRABLE INITIALLY DEFERRED)",
	)
	return effects{t, pool}
}

const add = "INSERT INTO effects AS e VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = e.n + EXCLUDED.n"

func (e effects) value(id string) (n int) {
	e.t.Helper()
	check.Must(e.t, e.pool.QueryRow(e.t.Context(), "SELECT coalesce(sum(n), 0) FROM effects WHERE id = $1", id).Scan(&n))
	return n
}

func (e effects) is(id string, want int) {
	e.t.Helper()
	if got := e.value(id); got != want {
		e.t.Errorf("%s is %d, want %d", id, got, want)
	}
}

// attach returns a transaction for package storetest.
func (e effects) attach(t *testing.T, refused bool) (driver.Attachment, func() int) {
	e.t = t
	id := rand.Text()
	tx := new(Tx)
	tx.Exec(add, id, 1)
	if refused {
		tx.Require(nil, "UPDATE effects SET n = 0 WHERE id = $1", "nobody")
	}
	return (*collected)(tx), func() int { return e.value(id) }
}

// A bench is a store with effects, and an executor.
type bench struct {
	effects
	*Store
	x *idempotent.Executor
}

func newBench(t *testing.T, config *idempotent.Config, o *Options, change ...func(*pgxpool.Config)) bench {
	t.Helper()
	return benchOn(t, config, o, newPool(t, change...))
}

func benchOn(t *testing.T, config *idempotent.Config, o *Options, pool *pgxpool.Pool) bench {
	t.Helper()
	s := newStore(t, pool, o)
	return bench{newEffects(t, pool), s, executor(t, s, config)}
}

func executor(t *testing.T, s *Store, config *idempotent.Config) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New("op", s, config)
	check.Must(t, err)
	return x
}

// in returns the bench for a subtest. Its calls must leave nothing behind.
func (b bench) in(t *testing.T) bench {
	b.t = t
	return b
}

var theKey = idempotent.Key{Record: "op#1"}

func (b bench) do(fn func(context.Context) (string, error)) (string, error) {
	return idempotent.Do(b.t.Context(), b.x, theKey, fn)
}

// collects returns a handler that collects statements.
func collects(all ...func(*Tx)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for _, some := range all {
			some(Collect(ctx))
		}
		return "paid", nil
	}
}

func addsOne(tx *Tx) { tx.Exec(add, "a", 1) }

func (b bench) stored() driver.Record {
	b.t.Helper()
	r, err := b.Get(b.t.Context(), theKey.Record)
	check.Must(b.t, err)
	return r
}

// refusedFor fails the test unless err is the error of this statement of a transaction.
func refusedFor(t *testing.T, err error, code string, index int, about ...any) {
	t.Helper()
	failed, ok := err.(*TransactionError)
	if !ok {
		t.Errorf("%s%T: %v", fmt.Sprint(about...), err, err)
		return
	}
	check.Equal(t, failed.Code, code, about...)
	check.Equal(t, failed.Index, index, about...)
}
