package postgres

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A statement after it would be committed at once, and the retry would repeat it.
func TestTransactionThatTheHandlerHasEndedRunsNothingMore(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		savepoint, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.Conn().Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
		_, begun := tx.Begin(ctx)
		_, queried := tx.Query(ctx, "SELECT 1")
		_, prepared := tx.Prepare(ctx, "", "SELECT 1")
		_, copied := tx.CopyFrom(ctx, pgx.Identifier{"effects"}, []string{"id", "n"}, pgx.CopyFromRows([][]any{{"a", 1}}))
		for n, err := range []error{adds(ctx, tx), begun, queried, prepared, copied, savepoint.Commit(ctx),
			tx.QueryRow(ctx, "SELECT 1").Scan(), tx.SendBatch(ctx, &pgx.Batch{}).Close()} {
			refusedFor(t, err, CodeEnded, -1, "call ", n)
		}
		return nil
	}))
	refusedFor(t, err, CodeEnded, -1)
	b.is("a", 0)
	b.noneHeld()
}

// The statement waits for a lock that is never released, and its context does not end.
func TestTransactionInterruptsAStatementThatIsLeftBehind(t *testing.T) {
	for name, result := range map[string]error{"an error": errors.New("no"), "success": nil} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			blocker, err := b.pool.Begin(t.Context())
			if err == nil {
				_, err = blocker.Exec(t.Context(), add, "a", 1)
			}
			check.Must(t, err)
			left := make(chan error, 1)
			_, err = b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				go func() {
					_, err := tx.Exec(context.Background(), add, "a", 1)
					left <- err
				}()
				for waits := 0; waits == 0; runtime.Gosched() {
					if err := b.pool.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waits); err != nil {
						return err
					}
				}
				return result
			}))
			var open *TransactionError
			if result != nil && err != result || result == nil && (!errors.As(err, &open) || open.Code != CodeInUse) {
				t.Error(err)
			}
			check.Failed(t, <-left, "the statement has succeeded")
			check.Nil(t, blocker.Rollback(t.Context()))
			b.noneHeld()
			b.is("a", 0)
		})
	}
}

type exits struct{}

func (exits) MarshalJSON() ([]byte, error) { runtime.Goexit(); return nil, nil }

// The release needs the connection.
func TestTransactionWithOneConnectionWhoseResultExits(t *testing.T) {
	b := newBench(t, nil, nil, one)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = idempotent.Do(t.Context(), b.x, theKey, func(ctx context.Context) (exits, error) {
			_, err := Transaction(ctx)
			return exits{}, err
		})
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the call waits for its own connection")
	}
	check.Equal(t, b.stored().Owner, "", "the record is not released")
}

// The handler did not cause the server's timeout: the attempt does not count.
func TestTransactionThatTheServerEnds(t *testing.T) {
	b := newBench(t, &idempotent.Config{MaxAttempts: 1}, nil)
	slow := true
	handler := in(func(ctx context.Context, tx pgx.Tx) error {
		if err := adds(ctx, tx); err != nil || !slow {
			return err
		}
		_, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 1")
		for alive := true; alive && err == nil; runtime.Gosched() {
			err = b.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", tx.Conn().PgConn().PID()).Scan(&alive)
		}
		return err
	})
	_, err := b.do(handler)
	if codeOf(err) != "25P03" || !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("%T: %v", err, err)
	}
	b.is("a", 0)
	b.noneHeld()
	slow = false
	_, err = b.do(handler)
	check.Nil(t, err)
	b.is("a", 1)
}

// pgx waits for the next row of its source, which never comes, or for the values of a
// row: CopyFromSlice calls the handler's function for them.
func TestTransactionInterruptsACopyThatIsLeftBehind(t *testing.T) {
	for name, source := range map[string]func(next func() ([]any, error)) pgx.CopyFromSource{
		"a row": func(next func() ([]any, error)) pgx.CopyFromSource { return pgx.CopyFromFunc(next) },
		"values": func(next func() ([]any, error)) pgx.CopyFromSource {
			return pgx.CopyFromSlice(1, func(int) ([]any, error) { return next() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			waits, never := make(chan struct{}), make(chan struct{})
			defer close(never)
			left := make(chan error, 1)
			_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
				go func() {
					_, err := tx.CopyFrom(ctx, pgx.Identifier{"effects"}, []string{"id", "n"}, source(func() ([]any, error) {
						close(waits)
						<-never
						return nil, nil
					}))
					left <- err
				}()
				<-waits
				return nil
			}))
			refusedFor(t, err, CodeInUse, -1)
			check.Failed(t, <-left, "the copy that was left behind succeeded")
			b.is("a", 0)
			b.noneHeld()
		})
	}
}

// countedSource is a source that counts its rows.
type countedSource struct {
	rows    int
	entered chan struct{}
	leave   chan struct{}
}

func (s *countedSource) Next() bool {
	if s.rows++; s.rows == 1 {
		close(s.entered)
		<-s.leave
	}
	return s.rows < 3
}
func (s *countedSource) Values() ([]any, error) { return []any{"a", 1}, nil }
func (s *countedSource) Err() error             { return nil }

// The handler may use its source again, so CopyFrom waits for it as pgx does.
func TestCopyOfAHandlerDoesNotLeaveItsSourceBehind(t *testing.T) {
	b := newBench(t, nil, nil)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		s := &countedSource{entered: make(chan struct{}), leave: make(chan struct{})}
		bounded, cancel := context.WithCancel(ctx)
		go func() {
			<-s.entered
			cancel()
			close(s.leave)
		}()
		_, err := tx.CopyFrom(bounded, pgx.Identifier{"effects"}, []string{"id", "n"}, s)
		s.rows++ // the race detector sees a source that is still in use
		return err
	}))
	check.Failed(t, err, "a copy whose context ended succeeded")
}
