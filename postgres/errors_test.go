package postgres

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
)

// kinds are the errors that the core tells apart.
type kinds struct{ unavailable, throttled, notWritten bool }

func kindsOf(err error) kinds {
	return kinds{errors.Is(err, driver.ErrUnavailable), errors.Is(err, driver.ErrThrottled), errors.Is(err, driver.ErrNotWritten)}
}

// advises expects an *Error of these kinds, with advice, and without the key.
func advises(t *testing.T, err error, want kinds, advice string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || kindsOf(err) != want {
		t.Errorf("%v is %+v; want %+v", err, kindsOf(err), want)
		return
	}
	if !strings.Contains(e.Advice, advice) || strings.Contains(err.Error(), "secret-key") {
		t.Errorf("%v; want advice with %q and without the key", err, advice)
	}
}

var unavailable, refusedForNow = kinds{unavailable: true}, kinds{unavailable: true, notWritten: true}

func TestServerThatIsNotThereIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	check.Must(t, l.Close())
	s, err := New(poolTo(t, "postgres://once@"+l.Addr().String()+"/once"), table, nil)
	check.Must(t, err)
	_, err = s.Get(t.Context(), "secret-key")
	advises(t, err, unavailable, "could not be reached")
	_, _, err = s.Create(t.Context(), claim("secret-key", owner), now, nil)
	advises(t, err, unavailable, "could not be reached")
}

func TestConnectionThatIsCutIsUnavailable(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	create(t, s, claim("secret-key", owner))
	for name, sql := range map[string]string{
		"terminated by an administrator": `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
		"cancelled":                      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
	} {
		t.Run(name, func(t *testing.T) {
			tx := hold(t, pool, s)
			done := make(chan error)
			go func() {
				_, _, err := s.Change(t.Context(), driver.Fence{ID: "secret-key", Owner: owner}, complete("1"))
				done <- err
			}()
			waitForLock(t, pool)
			_, err := tx.Exec(t.Context(), sql)
			check.Must(t, err)
			advises(t, <-done, unavailable, "")
		})
	}
}

func TestErrorsOfTheServerAreClassified(t *testing.T) {
	admin := postgreslocal.NewDatabase(t)
	pool := poolTo(t, admin)
	s := newStore(t, pool, nil)
	create(t, s, claim("secret-key", owner))
	execute(t, pool,
		`DROP ROLE IF EXISTS crowded, stranger`,
		`CREATE ROLE crowded LOGIN CONNECTION LIMIT 0`, `CREATE ROLE stranger LOGIN`,
	)
	set := func(name, value string) func(*pgxpool.Config) {
		return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams[name] = value }
	}
	other := func(change func(*url.URL)) string {
		u, err := url.Parse(admin)
		check.Must(t, err)
		change(u)
		return u.String()
	}
	as := func(user string) string { return other(func(u *url.URL) { u.User = url.User(user) }) }
	for _, c := range []struct {
		name, url, table string
		change           func(*pgxpool.Config)
		want             kinds
		advice           string
	}{
		{"too many connections", as("crowded"), table, nil, kinds{unavailable: true, throttled: true}, "no resources"},
		{"a replica", admin, table, set("default_transaction_read_only", "on"), refusedForNow, "primary"},
		{"no permission", as("stranger"), table, nil, kinds{}, "grant"},
		{"no table", admin, "missing", nil, kinds{}, "postgres.SQL"},
		{"no role", as("nobody-knows"), table, nil, kinds{}, "login"},
		{"no database", other(func(u *url.URL) { u.Path = "/missing" }), table, nil, kinds{}, "login"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change == nil {
				c.change = func(*pgxpool.Config) {}
			}
			s, err := New(poolTo(t, c.url, c.change), c.table, nil)
			check.Must(t, err)
			_, _, err = s.Change(t.Context(), driver.Fence{ID: "secret-key", Owner: owner}, complete("secret-key"))
			advises(t, err, c.want, c.advice)
		})
	}
	t.Run("statement timeout", func(t *testing.T) {
		held, err := New(poolTo(t, admin, set("statement_timeout", "100ms")), table, nil)
		check.Must(t, err)
		hold(t, pool, s)
		_, _, err = held.Change(t.Context(), driver.Fence{ID: "secret-key", Owner: owner}, complete("1"))
		advises(t, err, unavailable, "timeout")
	})
}

// hold locks all records until the test ends, and returns the transaction that
// does.
func hold(t *testing.T, pool *pgxpool.Pool, s *Store) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, tx.Rollback(context.Background())) })
	_, err = tx.Exec(t.Context(), "SELECT FROM "+s.layout.table+" FOR UPDATE")
	check.Must(t, err)
	return tx
}

// refusing returns a store whose server refuses the first statements with these codes, and
// the number of statements that it was asked for.
func refusing(s *Store, codes []string) (_ *Store, sent *int) {
	sent = new(int)
	return &Store{layout: s.layout, db: through(s.db, func(n int, _ string) error {
		if *sent = n; n > len(codes) {
			return nil
		}
		return &pgconn.PgError{Severity: "ERROR", Code: codes[n-1], Message: "refused"}
	})}, sent
}

func TestWriteThatLosesConflictsIsSentAgain(t *testing.T) {
	s, sent := refusing(newStore(t, newPool(t), nil), []string{"40001", "40P01", "40001"})
	create(t, s, claim("id", owner))
	check.Equal(t, *sent, 4)
}

func TestWriteThatLosesEveryConflictHasWrittenNothing(t *testing.T) {
	plain := newStore(t, newPool(t), nil)
	conflicts := slices.Repeat([]string{"40001"}, 100)
	s, sent := refusing(plain, conflicts)
	_, ok, err := s.Create(t.Context(), claim("secret-key", owner), now, nil)
	advises(t, err, kinds{unavailable: true, notWritten: true}, "try again")
	check.Equal(t, ok, false)
	check.Equal(t, *sent, maxRounds)
	s, sent = refusing(plain, conflicts)
	ctx, cancel := context.WithCancel(t.Context())
	s.db = through(s.db, func(n int, _ string) error {
		if n == 2 {
			cancel()
		}
		return nil
	})
	_, _, err = s.Create(ctx, claim("id", owner), now, nil)
	check.Says(t, err, "40001")
	check.Equal(t, *sent, 2, "after the context ended")
}

// The server may speak any language, and a fatal answer may come from something on the way.
func TestChangeOfAnOperatorThatTheServerRefusesHasWrittenNothing(t *testing.T) {
	s := newStore(t, newPool(t), nil)
	create(t, s, claim("id", owner))
	e, err := s.Inspect(t.Context(), "id")
	check.Must(t, err)
	for notWritten, answer := range map[bool]*pgconn.PgError{
		true: {Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "42501"}, false: {Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01"},
	} {
		refused := &Store{layout: s.layout, db: through(s.db, func(int, string) error { return answer })}
		_, ok, err := refused.Apply(t.Context(), e, driver.Change{Release: driver.ReleaseKeep})
		check.Equal(t, ok, false)
		check.Equal(t, errors.Is(err, driver.ErrNotWritten), notWritten, answer)
	}
}

// passing is a context whose deadline passes when the test says so.
type passing struct {
	context.Context
	passed chan struct{}
}

func (p passing) Done() <-chan struct{} { return p.passed }

func (p passing) Err() error {
	select {
	case <-p.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestErrorsOfTheContextAreClassified(t *testing.T) {
	pool := newPool(t)
	s := newStore(t, pool, nil)
	create(t, s, claim("secret-key", owner))
	hold(t, pool, s)
	late := passing{t.Context(), make(chan struct{})}
	done := make(chan error)
	go func() {
		_, _, err := s.Change(late, driver.Fence{ID: "secret-key", Owner: owner}, complete("2"))
		done <- err
	}()
	waitForLock(t, pool)
	close(late.passed)
	err := <-done
	advises(t, err, unavailable, "deadline")
	check.Is(t, err, context.DeadlineExceeded)
	cancelled, cancelNow := context.WithCancel(t.Context())
	go func() {
		_, _, err := s.Change(cancelled, driver.Fence{ID: "secret-key", Owner: owner}, complete("3"))
		done <- err
	}()
	waitForLock(t, pool)
	cancelNow()
	err = <-done
	advises(t, err, kinds{}, "cancelled")
	check.Is(t, err, context.Canceled)
}

func TestCodesAreClassified(t *testing.T) {
	for code, want := range map[string]kinds{
		"08006": unavailable, "57P01": unavailable, "57P03": unavailable, "58030": unavailable, "25006": refusedForNow, "25P03": unavailable, "25P04": unavailable,
		"53300": {true, true, false}, "53200": {true, true, false}, "53400": {true, true, false},
		"40001": {true, false, true}, "40P01": {true, false, true},
		"42P01": {}, "42501": {}, "54000": {}, "XX000": {}, "28P01": {}, "22021": {},
	} {
		err := &Error{Err: &pgconn.PgError{Code: code}}
		check.Equal(t, kindsOf(err), want, code)
		check.Equal(t, errors.Is(err, driver.ErrDenied), code == "42501", code, "is denied")
	}
}
