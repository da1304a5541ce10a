package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

// postgresScene is a table of PostgreSQL, and the command on it.
type postgresScene struct {
	*scene
	url   string
	pool  *pgxpool.Pool
	store *postgres.Store
}

func newPostgresScene(t *testing.T, table string, options *postgres.Options) *postgresScene {
	t.Helper()
	s := &postgresScene{scene: &scene{T: t}, url: postgreslocal.NewDatabase(t)}
	pool, err := pgxpool.New(t.Context(), s.url)
	check.Must(t, err)
	t.Cleanup(pool.Close)
	s.pool = pool
	if options != nil {
		s.exec("CREATE SCHEMA " + options.Schema)
	}
	check.Must(t, postgres.CreateTable(t.Context(), pool, table, options))
	if s.store, err = postgres.New(pool, table, options); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *postgresScene) exec(sql string, args ...any) {
	s.Helper()
	if _, err := s.pool.Exec(s.Context(), sql, args...); err != nil {
		s.Fatal(err)
	}
}

// fill inserts n expired records.
func (s *postgresScene) fill(n int) {
	s.Helper()
	s.exec(`INSERT INTO idempotency (id, status, expires) SELECT 'pay#' || i, 'COMPLETED', now() - interval '2 days' + i * interval '1 second' FROM generate_series(1, $1::int) AS i`, n)
}

func (s *postgresScene) count() (n int) {
	s.Helper()
	check.Must(s, s.pool.QueryRow(s.Context(), "SELECT count(*) FROM idempotency").Scan(&n))
	return n
}

func TestSweepFindsATableOfPostgreSQLInItsSchema(t *testing.T) {
	s := newPostgresScene(t, "Records", &postgres.Options{Schema: "payments"})
	s.sweeps(s.store, "--postgres", s.url, "--table", "Records", "--schema", "payments")
}

func TestSweepReadsTheConnectionFromTheEnvironment(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	u, err := url.Parse(s.url)
	check.Must(t, err)
	t.Run("DATABASE_URL", func(t *testing.T) {
		t.Setenv("DATABASE_URL", s.url)
		s := &scene{T: t}
		s.ok("sweep", "--yes", "--postgres", "env")
	})
	t.Run("PGHOST", func(t *testing.T) {
		t.Setenv("DATABASE_URL", "")
		t.Setenv("PGHOST", u.Hostname())
		t.Setenv("PGPORT", u.Port())
		t.Setenv("PGUSER", u.User.Username())
		t.Setenv("PGDATABASE", strings.TrimPrefix(u.Path, "/"))
		s := &scene{T: t}
		s.ok("sweep", "--yes", "--postgres", "env")
	})
}

// A sweep of PostgreSQL tells its progress, and continues without a position.
func TestSweepOfPostgreSQLContinuesAfterItsLimit(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	s.fill(12_600)
	r := s.run("sweep", "--yes", "--postgres", s.url, "--limit", "12300")
	if r.code != 0 || !strings.HasPrefix(r.out, "deleted 12300 records") || !strings.Contains(r.out, "\nthere may be more; the same command continues\n") ||
		r.err != "deleted 10000 records\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	var got swept
	check.Must(t, json.Unmarshal([]byte(s.ok("sweep", "--yes", "--json", "--postgres", s.url, "--limit", "12300")), &got))
	if got.Records != 300 || !got.Complete || s.count() != 0 {
		t.Errorf("it says %+v, and %d are left", got, s.count())
	}
}

// sweepBatch is the number of records that a sweep deletes in one transaction.
const sweepBatch = 500

// An interrupt waits for the transaction under way, and counts it.
func TestInterruptedSweepOfPostgreSQLSaysWhatItDid(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	s.fill(3 * sweepBatch)
	// A sweep passes a row that is locked, so the deletion of the row waits in a trigger.
	s.exec("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(29); RETURN OLD; END $$")
	s.exec(fmt.Sprintf("CREATE TRIGGER hold BEFORE DELETE ON idempotency FOR EACH ROW WHEN (OLD.id = 'pay#%d') EXECUTE FUNCTION hold()", sweepBatch+1))
	tx, err := s.pool.Begin(t.Context())
	check.Must(t, err)
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(29)"); err != nil {
		t.Fatal(err)
	}
	reached, noticed, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(released)
		s.blocked(noticed)
		close(reached)
		<-noticed
		check.Nil(t, tx.Rollback(t.Context()))
	}()
	r := s.interrupted(os.Interrupt, reached, noticed, "sweep", "--yes", "--postgres", s.url)
	<-released
	if r.code != cli.CodeFailed || !strings.HasPrefix(r.out, fmt.Sprintf("deleted %d records", 2*sweepBatch)) || s.count() != sweepBatch ||
		!strings.HasSuffix(r.out, "\nthere may be more; the same command continues\n") || !strings.HasSuffix(r.err, "once: the sweep was interrupted\n") {
		t.Errorf("exit %d, %d are left\n%s%s", r.code, s.count(), r.out, r.err)
	}
	if out := s.ok("sweep", "--yes", "--postgres", s.url); !strings.HasPrefix(out, fmt.Sprintf("deleted %d records", sweepBatch)) {
		t.Error(out)
	}
}

// blocked waits until a session waits for a lock, or the command has ended.
func (s *postgresScene) blocked(ended <-chan struct{}) {
	for waiting := 0; waiting == 0; {
		select {
		case <-ended:
			return
		default:
		}
		err := s.pool.QueryRow(s.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting)
		if err != nil {
			s.Error(err)
			return
		}
	}
}

func TestSweepOfAMissingTableGivesAdvice(t *testing.T) {
	s := newPostgresScene(t, "idempotency", nil)
	for _, dry := range []string{"--dry-run", "--yes"} {
		r := s.run("sweep", dry, "--postgres", s.url, "--table", "nowhere")
		if r.code != cli.CodeFailed || r.out != "" || !strings.Contains(r.err, "the table does not exist; run the statements of postgres.SQL") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
}
