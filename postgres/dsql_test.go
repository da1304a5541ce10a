package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// Aurora DSQL does not run here. In its place, a PostgreSQL with snapshot isolation
// answers, which also reports lost races as 40001. This checker refuses all features that
// Aurora DSQL lacks by its documentation.

// lacking are words that begin or name these features.
var lacking = strings.Fields(`TRIGGER SEQUENCE SERIAL BIGSERIAL IDENTITY SAVEPOINT RELEASE REFERENCES FOREIGN TRUNCATE TEMP TEMPORARY
	UNLOGGED LISTEN UNLISTEN NOTIFY LOCK SKIP NOWAIT EXTENSION PLPGSQL COLLATE INHERITS PARTITION TABLESPACE VACUUM MERGE
	MATERIALIZED DECLARE CURSOR COPY JSON JSONB XML ARRAY ISOLATION EXCLUDE CLUSTER RULE POLICY`)

// known are the functions that the statements may call. All of them are functions
// of PostgreSQL without a state.
var known = strings.Fields(`coalesce nullif greatest octet_length date_trunc count clock_timestamp`)

const (
	maxDSQLColumn = 1 << 20
	maxDSQLKey    = 1 << 10
	maxDSQLRows   = 3000
)

var (
	quotedText = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"]|"")*"`)
	word       = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)
	call       = regexp.MustCompile(`([a-z_][a-z_0-9]*)\(`)
)

// checkDSQL returns an error for a statement that Aurora DSQL would refuse.
func checkDSQL(sql string, args []any) error {
	text := quotedText.ReplaceAllString(sql, `"q"`)
	words := word.FindAllString(strings.ToUpper(text), -1)
	for _, lacks := range lacking {
		for _, w := range words {
			if w == lacks {
				return fmt.Errorf("Aurora DSQL lacks %s", w)
			}
		}
	}
	switch upper := strings.ToUpper(text); {
	case strings.HasPrefix(upper, "DO "):
		return errors.New("Aurora DSQL lacks DO")
	case strings.Contains(text, ";"):
		return errors.New("Aurora DSQL allows one DDL statement in a transaction")
	case strings.Contains(upper, "INDEX") && !strings.Contains(upper, "INDEX ASYNC"):
		return errors.New("Aurora DSQL creates indexes with ASYNC only")
	case strings.Contains(text, "[]"):
		return errors.New("Aurora DSQL has no columns of arrays")
	case strings.Contains(upper, "FOR UPDATE") && !strings.Contains(text, `"q" = $1`):
		return errors.New("Aurora DSQL locks only by the whole primary key")
	}
	for _, c := range call.FindAllStringSubmatch(text, -1) {
		found := false
		for _, name := range known {
			found = found || name == c[1]
		}
		if !found {
			return fmt.Errorf("%s is not a function that is known to exist in Aurora DSQL", c[1])
		}
	}
	return checkDSQLArgs(args)
}

func checkDSQLArgs(args []any) error {
	for n, arg := range args {
		size := 0
		switch arg := arg.(type) {
		case string:
			size = len(arg)
		case []byte:
			size = len(arg)
		case int:
			if arg > maxDSQLRows && arg < maxDSQLColumn/2 {
				return fmt.Errorf("argument %d is a limit of %d rows", n+1, arg)
			}
		}
		if size > maxDSQLColumn || n == 0 && size > maxDSQLKey {
			return fmt.Errorf("argument %d has %d bytes", n+1, size)
		}
	}
	return nil
}

// likeDSQL checks each statement before PostgreSQL gets it.
type likeDSQL struct{ DB }

func (d likeDSQL) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := checkDSQL(sql, args); err != nil {
		return nil, err
	}
	return d.DB.Query(ctx, strings.Replace(sql, "INDEX ASYNC", "INDEX", 1), args...)
}

func snapshots(c *pgxpool.Config) {
	c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
}

func TestEveryStatementSuitsAuroraDSQL(t *testing.T) {
	t.Parallel()
	pool := newPool(t, snapshots, func(c *pgxpool.Config) {
		c.ConnConfig.Tracer = tracer{batched: func(sql string, args []any) {
			if err := checkDSQL(sql, args); err != nil && !strings.Contains(sql, "effects") {
				t.Errorf("%s: %v", sql, err)
			}
		}}
	})
	effects := newEffects(t, pool)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := storeIn(t, likeDSQL{pool}, rand.Text(), &Options{DSQL: true, Resume: true})
		return storetest.Harness{Store: s, Plant: s.plant, Attach: effects.attach, Schedules: 40}
	})
	t.Run("Sweep", func(t *testing.T) {
		s := newStore(t, likeDSQL{pool}, &Options{DSQL: true})
		insertExpired(t, pool, maxSweep+1)
		if page, err := s.Scan(t.Context(), driver.Filter{Expired: now}, ""); err != nil || len(page.Entries) != maxSweep+1 {
			t.Errorf("expired are %d, %v", len(page.Entries), err)
		}
		if deleted, err := sweepAll(t.Context(), s, maxDSQLRows); err != nil || deleted != maxSweep+1 {
			t.Errorf("deleted %d, %v", deleted, err)
		}
	})
}

func TestCheckerRefusesWhatAuroraDSQLLacks(t *testing.T) {
	for _, sql := range []string{
		`CREATE TRIGGER t BEFORE INSERT ON "a" EXECUTE FUNCTION f`,
		`CREATE TABLE "a" ("id" bigserial PRIMARY KEY)`,
		`CREATE TABLE "a" ("id" text REFERENCES "b")`,
		`CREATE TABLE "a" ("id" text COLLATE "C" PRIMARY KEY)`,
		`CREATE TABLE "a" ("steps" jsonb)`,
		`CREATE TABLE "a" ("steps" bytea[])`,
		`CREATE INDEX "i" ON "a" ("b")`,
		`CREATE TABLE "a" ("id" text); CREATE INDEX ASYNC "i" ON "a" ("id")`,
		`SAVEPOINT s`,
		`DO $$ BEGIN END $$`,
		`SELECT nextval('s')`,
		`SELECT pg_advisory_xact_lock(1)`,
		`SELECT "a" FROM "b" WHERE "c" < 1 FOR UPDATE SKIP LOCKED`,
		`SELECT "a" FROM "b" WHERE "c" < $1 FOR UPDATE`,
		`NOTIFY changed`,
	} {
		check.Failed(t, checkDSQL(sql, nil), "accepted", sql)
	}
	for name, args := range map[string][]any{
		"a long key":     {strings.Repeat("k", maxDSQLKey+1)},
		"a large result": {"id", make([]byte, maxDSQLColumn+1)},
		"many rows":      {"id", maxDSQLRows + 1},
	} {
		check.Failed(t, checkDSQL(`SELECT $1`, args), "accepted", name)
	}
	if _, err := (likeDSQL{}).Query(t.Context(), "SAVEPOINT s"); err == nil {
		t.Error("a statement that is refused is sent")
	}
	check.Nil(t, checkDSQL(`INSERT INTO "trigger" ("sequence") VALUES ('SAVEPOINT; []')`, nil), "a quoted name or text is refused")
}
