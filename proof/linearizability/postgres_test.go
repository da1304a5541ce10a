package linearizability

import (
	"context"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

// openPostgreSQL opens a store in a new database. setWire, if it is not nil,
// receives the wire that the store's connections go through, and between, if it
// is not nil, comes between the store and its pool.
func openPostgreSQL(setWire func(*pgWire), between func(postgres.DB) postgres.DB) func(*testing.T) driver.Store {
	return func(t *testing.T) driver.Store {
		config, err := pgxpool.ParseConfig(postgreslocal.NewDatabase(t))
		check.Must(t, err)
		config.MaxConns = 40
		server := &config.ConnConfig.Config
		var w *pgWire
		if setWire != nil {
			w = newPgWire(t, net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port))))
			config.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, w.Addr())
			}
			setWire(w)
		}
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		check.Must(t, err)
		t.Cleanup(pool.Close)
		var db postgres.DB = pool
		if w != nil {
			db = &pgDB{Pool: pool, wire: w, answered: make(map[*op]bool)}
		}
		if between != nil {
			db = between(db)
		}
		check.Must(t, postgres.CreateTable(t.Context(), db, "idempotency", nil))
		s, err := postgres.New(db, "idempotency", nil)
		check.Must(t, err)
		return onlyUnavailable(s)
	}
}

// pgDB is a pool that draws the fate of each statement of a history.
type pgDB struct {
	*pgxpool.Pool
	wire *pgWire

	mu       sync.Mutex
	answered map[*op]bool // the last statement had its answer
}

func (d *pgDB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	o, ok := ctx.Value(opKey{}).(*op)
	if !ok {
		return d.Pool.Query(ctx, sql, args...)
	}
	if d.isAnswered(o) {
		o.answered() // and wrote nothing, if there is another one
	}
	c, err := d.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	address := c.Conn().PgConn().Conn().LocalAddr()
	d.wire.expect(address, &pgSending{op: o, fate: fateOf(o.history)})
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		d.wire.expected(address)
		c.Release()
		return nil, err
	}
	return &pgRows{Rows: rows, done: sync.OnceFunc(func() {
		d.wire.expected(address)
		d.setAnswered(o, rows.Err() == nil)
		c.Release()
	})}, nil
}

func (d *pgDB) isAnswered(o *op) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answered[o]
}

func (d *pgDB) setAnswered(o *op, answered bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered[o] = answered
}

// fateOf returns the fate of the next statement of a history. A connection doubles
// nothing, and a copy that is late is one whose sender has no answer.
func fateOf(h *history) fate {
	switch f := h.fate(); f {
	case doubled:
		return lost
	case followed:
		return held
	default:
		return f
	}
}

// pgRows gives the connection back.
type pgRows struct {
	pgx.Rows
	done func()
}

func (r *pgRows) Close() {
	r.Rows.Close()
	r.done()
}

// onlyUnavailable is a store behind a network whose only errors are those of the
// network.
func onlyUnavailable(s driver.Store) driver.Store {
	return through{s, func(ctx context.Context, q request, send call) (driver.Record, bool, error) {
		r, ok, err := send(ctx)
		if o, in := ctx.Value(opKey{}).(*op); in && err != nil && !errors.Is(err, driver.ErrUnavailable) && ctx.Err() == nil {
			o.history.problem("%v: %v", q, err)
		}
		return r, ok, err
	}}
}

// unfencedDB takes the owner out of the condition of one kind of update.
type unfencedDB struct {
	postgres.DB
	update string // what only these updates contain
}

var pgOwner = regexp.MustCompile(`stored\."owner" = (\$\d+::text)`)

func (d unfencedDB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if strings.Contains(sql, d.update) {
		sql = pgOwner.ReplaceAllString(sql, "$1 IS NOT NULL")
	}
	return d.DB.Query(ctx, sql, args...)
}

func TestAWriteToPostgreSQLWithoutTheFenceIsNoticedInOneRun(t *testing.T) {
	for name, update := range map[string]string{
		"a completion": `SET "expires" = $2::timestamptz, "status" =`,
		"an extension": `SET "lease" = $2::timestamptz, "expires" =`,
	} {
		t.Run(name, func(t *testing.T) {
			open := openPostgreSQL(nil, func(db postgres.DB) postgres.DB { return unfencedDB{db, update} })
			r := newRow(t, &Options{Calm: true, Histories: 21})
			r.run(t, open(t))
			r.mustNotice(t, false)
		})
	}
}
