package postgres

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// explain returns the plan of a statement.
func explain(t *testing.T, pool *pgxpool.Pool, st statement) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "EXPLAIN "+st.sql, st.args...)
	check.Must(t, err)
	var plan strings.Builder
	for rows.Next() {
		var line string
		check.Must(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	check.Must(t, rows.Err())
	return plan.String()
}

func TestSQLWithResumeAddsAnIndex(t *testing.T) {
	plain, err := SQL(table, nil)
	check.Nil(t, err)
	got, err := SQL(table, &Options{Resume: true})
	check.Nil(t, err)
	check.Slice(t, got, append(plain, `CREATE INDEX IF NOT EXISTS "idempotency_lapsed" ON "idempotency" ("lease") WHERE "status" = 'INPROGRESS'`))
	got, err = SQL(table, &Options{Resume: true, DSQL: true})
	check.Nil(t, err)
	check.Equal(t, got[2], `CREATE INDEX ASYNC IF NOT EXISTS "idempotency_lapsed" ON "idempotency" ("lease")`)
}

// A search for what was left behind does not read what has ended. Parameters of a statement
// that is prepared for all values must not keep the index from fitting.
func TestLapsedRecordsAreFoundByTheirIndex(t *testing.T) {
	pool := newPool(t, one)
	s := newStore(t, pool, &Options{Resume: true})
	insertExpired(t, pool, 20_000)
	create(t, s, claim("op#1", owner))
	execute(t, pool, "ANALYZE idempotency", "SET plan_cache_mode = force_generic_plan")
	f := driver.Filter{Status: driver.InProgress, Prefix: "op#", Lapsed: now.Add(time.Hour), Brief: true}
	st := s.layout.scan(f, "", maxPage)
	execute(t, pool, "PREPARE search AS "+st.sql)
	plan := explain(t, pool, statement{sql: "EXECUTE search ('', 'INPROGRESS', 'op#%', '2100-01-01', 1000)"})
	check.Contains(t, plan, "using idempotency_lapsed on idempotency")
	page, err := s.Scan(t.Context(), f, "")
	check.Must(t, err)
	check.Equal(t, len(page.Entries), 1)
}

// An earlier version made such a table.
func TestTableOfAnEarlierVersionNeedsThreeColumns(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	execute(t, pool, "ALTER TABLE idempotency DROP COLUMN began, DROP COLUMN request, DROP COLUMN ended")
	check.Says(t, CheckTable(t.Context(), pool, table, nil), `column "began" does not exist`)
	_, _, err := s.Create(t.Context(), claim("a", owner), now, nil)
	check.Says(t, err, "ALTER TABLE")
	execute(t, pool, "ALTER TABLE idempotency ADD COLUMN began timestamptz, ADD COLUMN request bytea")
	check.Says(t, CheckTable(t.Context(), pool, table, nil), `column "ended" does not exist`)
	execute(t, pool, "ALTER TABLE idempotency ADD COLUMN ended text")
	check.Nil(t, CheckTable(t.Context(), pool, table, nil))
	create(t, s, claim("a", owner))
}

func TestTableIsCreatedOnce(t *testing.T) {
	pool := newPool(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			// Again and again: with a race detector, this sees a check that reads
			// from a connection that the pool has already given away.
			for range 50 {
				check.Nil(t, CreateTable(t.Context(), pool, table, nil))
			}
		})
	}
	all.Wait()
	create(t, newStore(t, pool, nil), claim("id", owner))
	newStore(t, pool, nil)
}

func TestTableThatDoesNotFitIsRefused(t *testing.T) {
	for want, sql := range map[string]string{
		"column \"steps\" is not of the type":  `ALTER TABLE idempotency ALTER COLUMN steps TYPE text USING ''`,
		"column \"steps\" does not exist":      `ALTER TABLE idempotency DROP COLUMN steps`,
		"column \"id\" is not the primary key": `ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey`,
	} {
		t.Run(want, func(t *testing.T) {
			pool := newPool(t)
			newStore(t, pool, nil)
			execute(t, pool, sql)
			err := CreateTable(t.Context(), pool, table, nil)
			check.Says(t, err, "postgres: CreateTable on table")
			check.Says(t, err, want)
		})
	}
}

// An operator may write it for "never".
func TestTimeOfInfinityIsReadAsNever(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	s.plant(t, expired("id", time.Hour))
	execute(t, pool, `UPDATE idempotency SET expires = 'infinity'`)
	if r := get(t, s, "id"); r.Status != driver.Completed || !r.Expires.IsZero() {
		t.Errorf("%+v", r)
	}
	if met, ok, err := s.Create(t.Context(), claim("id", rival), now, nil); ok || err != nil || met.Status != driver.Completed {
		t.Errorf("a claim: %t, %+v, %v", ok, met, err)
	}
}

// No store writes it. An operator can see and delete a record that calls cannot read.
func TestTimeOfMinusInfinityIsAProblemOfTheEntry(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	s.plant(t, expired("id", time.Hour))
	execute(t, pool, `UPDATE idempotency SET expires = '-infinity'`)
	_, err := s.Get(t.Context(), "id")
	check.Says(t, err, "a stored row is not a record")
	page, err := s.Scan(t.Context(), driver.Filter{}, "")
	check.Must(t, err)
	e, err := s.Inspect(t.Context(), "id")
	check.Must(t, err)
	for _, e := range append(page.Entries, e) {
		if e.ID != "id" || e.Status != driver.Completed || !slices.Equal(e.Problems, []string{"a time is -infinity"}) {
			t.Errorf("%+v", e)
		}
	}
	_, ok, err := s.Apply(t.Context(), e, driver.Change{Release: driver.ReleaseDelete})
	check.Nil(t, err)
	check.Equal(t, ok, true)
}

func TestTableMayHaveMoreColumns(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	execute(t, pool, `ALTER TABLE idempotency ADD COLUMN created timestamptz DEFAULT now()`)
	newStore(t, pool, nil)
	create(t, s, claim("id", owner))
}

func TestOptionsThatAreNotValidAreRefused(t *testing.T) {
	long := strings.Repeat("n", maxName+1)
	for name, c := range map[string]struct {
		table   string
		options *Options
	}{
		"long table":             {strings.Repeat("n", maxTableName+1), nil},
		"NUL in the table":       {"a\x00b", nil},
		"broken UTF-8":           {"a\xff", nil},
		"long schema":            {table, &Options{Schema: long}},
		"too large for DSQL":     {table, &Options{DSQL: true, MaxSize: 1<<20 + 1}},
		"a timeout without unit": {table, &Options{TransactionTimeout: 30}},
		"a timeout with DSQL":    {table, &Options{DSQL: true, TransactionTimeout: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var want *driver.ConfigError
			if _, err := New(&pgxpool.Pool{}, c.table, c.options); !errors.As(err, &want) {
				t.Errorf("New: %v", err)
			}
			if _, err := SQL(c.table, c.options); !errors.As(err, &want) {
				t.Errorf("SQL: %v", err)
			}
			if err := CreateTable(t.Context(), nil, c.table, c.options); !errors.As(err, &want) {
				t.Errorf("CreateTable: %v", err)
			}
		})
	}
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := New(nil, "", &Options{MaxSize: -1, Schema: "\xff"})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"pool", "the table", "MaxSize", "Schema"} {
		check.Contains(t, err.Error(), want, "no", err)
	}
}

// A prefix is a range of the primary key, in which '_' is no wildcard.
func TestPrefixIsFoundByThePrimaryKey(t *testing.T) {
	pool := newPool(t, one)
	s := newStore(t, pool, nil)
	insertExpired(t, pool, 20_000)
	create(t, s, claim("my_op#12ab", owner))
	execute(t, pool, "ANALYZE idempotency")
	plan := explain(t, pool, s.layout.scan(driver.Filter{Prefix: "my_op#12", Brief: true}, "", maxPage))
	check.Contains(t, plan, "using idempotency_pkey on idempotency")
	check.Contains(t, plan, `(id >= 'my_op#12'::text) AND (id < 'my_op#13'::text)`)
}
