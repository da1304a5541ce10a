package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
)

func TestMain(m *testing.M) {
	os.Exit(deployed.Main(func() int { return postgreslocal.Main(m) }))
}

// newDatabase returns a database with the tables of the functions and of River.
func newDatabase(t *testing.T) (url string, pool *pgxpool.Pool) {
	t.Helper()
	url, pool = deployed.NewDatabase(t)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	return url, pool
}

func event(id, from, to string, amount int) []byte {
	return fmt.Appendf(nil, `{"transferId": %q, "from": %q, "to": %q, "amount": %d}`, id, from, to, amount)
}

func TestSchemaHasTheStatementsOfTheStore(t *testing.T) { deployed.HasSchema(t) }

// The function is killed before and after each of its round trips to PostgreSQL.
func TestEveryCrashLeavesOneNotice(t *testing.T) {
	t.Parallel()
	url, pool := newDatabase(t)
	crashtest.Run(t, crashtest.Function{
		Binary:  deployed.Binary,
		Servers: []crashtest.Server{{Variable: "DATABASE_URL", URL: url, Name: "postgres"}},
	}, func(ctx context.Context, run string) ([]byte, error) {
		_, err := pool.Exec(ctx, "INSERT INTO accounts VALUES ('alice-' || $1, 100), ('bob-' || $1, 50)", run)
		return event(run, "alice-"+run, "bob-"+run, 30), err
	}, func(ctx context.Context, run string) error {
		var alice, bob, notices int
		err := pool.QueryRow(ctx, `SELECT (SELECT balance FROM accounts WHERE id = 'alice-' || $1), (SELECT balance FROM accounts WHERE id = 'bob-' || $1),
			(SELECT count(*) FROM river_job WHERE args->'transfer'->>'transferId' = $1)`, run).Scan(&alice, &bob, &notices)
		if err == nil && (alice != 70 || bob != 80 || notices != 1) {
			err = fmt.Errorf("alice has %d and bob %d with %d notices, want 70, 80 and 1", alice, bob, notices)
		}
		return err
	})
}

func TestRefusedTransferHasNoNotice(t *testing.T) {
	t.Parallel()
	url, pool := newDatabase(t)
	if _, err := pool.Exec(t.Context(), "INSERT INTO accounts VALUES ('alice', 100), ('bob', 50)"); err != nil {
		t.Fatal(err)
	}
	f := deployed.Start(t, lambdaruntime.Function{Name: "transfer", Timeout: 10 * time.Second}, "DATABASE_URL="+url)
	for want, e := range map[string][]byte{
		"InsufficientFundsError": event("1", "alice", "bob", 101),
		"UnknownAccountError":    event("2", "alice", "carol", 1),
		"InvalidTransferError":   event("3", "alice", "alice", 1),
	} {
		for range 2 {
			if r, err := f.Invoke(t.Context(), e); err != nil || r.FunctionError == nil || r.FunctionError.Type != want {
				t.Errorf("%s: got %s, %v", want, r.Payload, err)
			}
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM river_job) + (SELECT count(*) FROM accounts WHERE balance NOT IN (50, 100))").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d notices and changed accounts, %v", n, err)
	}
}

// The receiver must not take the second for the first, however long it remembers.
func TestTransferThatRunsAgainHasAnotherNotice(t *testing.T) {
	t.Parallel()
	url, pool := newDatabase(t)
	if _, err := pool.Exec(t.Context(), "INSERT INTO accounts VALUES ('alice', 100), ('bob', 50)"); err != nil {
		t.Fatal(err)
	}
	f := deployed.Start(t, lambdaruntime.Function{Name: "transfer", Timeout: 10 * time.Second}, "DATABASE_URL="+url)
	for range 2 {
		for range 2 { // a duplicate has no notice of its own
			if r, err := f.Invoke(t.Context(), event("1", "alice", "bob", 10)); err != nil || r.FunctionError != nil {
				t.Fatalf("%s, %v", r.Payload, err)
			}
		}
		if _, err := pool.Exec(t.Context(), "DELETE FROM idempotency"); err != nil { // as after its retention
			t.Fatal(err)
		}
	}
	var all, distinct int
	if err := pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT args->>'id') FROM river_job").Scan(&all, &distinct); err != nil || all != 2 || distinct != 2 {
		t.Errorf("%d notices with %d ids, %v", all, distinct, err)
	}
}

func TestRescueMustComeAfterTheTimeout(t *testing.T) {
	for name, env := range map[string][2]string{
		"shorter": {"10s", "9s"}, "equal": {"10s", "10s"}, "no duration": {"10", ""}, "negative": {"-1s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JOB_TIMEOUT", env[0])
			t.Setenv("RESCUE_AFTER", env[1])
			if _, err := scheduled(t.Context(), "http://localhost"); err == nil {
				t.Error("accepted")
			}
		})
	}
}
