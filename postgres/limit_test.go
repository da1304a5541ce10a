package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func sized(maxConns int32) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.MaxConns = maxConns }
}

// call runs a call with a key of its own.
func (b bench) call(ctx context.Context, id any, fn func(context.Context) (string, error)) error {
	_, err := idempotent.Do(ctx, b.x, idempotent.Key{Record: fmt.Sprint("op#", id)}, fn)
	return err
}

// waiting returns how many calls wait for a transaction.
func (l *limit) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queued
}

// until waits for a condition that a different goroutine makes true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look, deadline := time.NewTicker(time.Millisecond), time.Now().Add(time.Minute)
	defer look.Stop()
	for ; !holds(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Without a limit, transactions wait for each other's connections.
func TestTransactionsLeaveAConnectionToTheRecords(t *testing.T) {
	for name, within := range map[string]func(ctx context.Context, b bench, id string) error{
		"a step": func(ctx context.Context, _ bench, _ string) error {
			_, err := idempotent.Step(ctx, "step", func(context.Context) (int, error) { return 1, nil })
			return err
		},
		"a nested call": func(ctx context.Context, b bench, id string) error {
			return b.call(ctx, id, func(context.Context) (string, error) { return "", nil })
		},
		"a nested call that collects": func(ctx context.Context, b bench, id string) error {
			return b.call(ctx, id, func(ctx context.Context) (string, error) { return "", ways["Tx"](ctx, id) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const conns, calls = 3, 9
			b := newBench(t, &idempotent.Config{Lease: 10 * time.Second}, nil, sized(conns))
			var begun atomic.Int32
			var crowded atomic.Bool
			var wg sync.WaitGroup
			for i := range calls {
				wg.Go(func() {
					id := fmt.Sprint(i)
					err := b.call(t.Context(), id, in(func(ctx context.Context, tx pgx.Tx) error {
						_, err := tx.Exec(ctx, add, id, 1)
						// As many as there may be are open at the same time, once.
						if begun.Add(1) == int32(cap(b.limit.open)) {
							crowded.Store(true)
						}
						until(t, "other transactions", crowded.Load)
						return errors.Join(err, within(ctx, b, "within "+id))
					}))
					check.Nil(t, err)
				})
			}
			wg.Wait()
			for i := range calls {
				b.is(fmt.Sprint(i), 1)
			}
			b.noneHeld()
			check.Equal(t, len(b.limit.open), 0, "transactions count as open")
		})
	}
}

// A call that waits for its transaction has a lease, too.
func TestHeartbeatDoesNotWaitBehindTransactions(t *testing.T) {
	b := newBench(t, nil, nil, sized(2))
	r := claim("another", owner)
	r.Lease, r.Expires = time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	create(t, b.Store, r)
	done := make(chan struct{})
	var wg sync.WaitGroup
	var calling atomic.Int32
	for i := range 5 {
		wg.Go(func() {
			check.Nil(t, b.call(t.Context(), i, func(ctx context.Context) (string, error) {
				calling.Add(1)
				_, err := Transaction(ctx)
				<-done
				return "", err
			}))
		})
	}
	until(t, "the transactions", func() bool {
		return calling.Load() == 5 && (b.limit.waiting() == 4 || b.pool.Stat().AcquiredConns() == 2)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	later := driver.Change{Lease: time.Now().Add(time.Hour), Expires: time.Now().Add(2 * time.Hour)}
	if _, ok, err := b.Change(ctx, fence(r), later); !ok || err != nil {
		t.Errorf("ok %v, %v", ok, err)
	}
	close(done)
	wg.Wait()
	b.noneHeld()
}

func TestCollectedStatementsDoNotTakeTheLastConnection(t *testing.T) {
	b := newBench(t, nil, nil, sized(2))
	execute(t, b.pool, "INSERT INTO effects VALUES ('a', 0)")
	var wg sync.WaitGroup
	err := b.call(t.Context(), "first", in(func(ctx context.Context, tx pgx.Tx) error {
		if err := adds(ctx, tx); err != nil {
			return err
		}
		wg.Go(func() {
			check.Nil(t, b.call(t.Context(), "second", func(ctx context.Context) (string, error) { return "", ways["Tx"](ctx, "a") }))
		})
		until(t, "the second call", func() bool { return b.limit.waiting() == 1 })
		// The second call must not hold the connection, and wait for the lock of the first.
		bounded, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		_, err := idempotent.Step(bounded, "step", func(context.Context) (int, error) { return 1, nil })
		return err
	}))
	check.Nil(t, err)
	wg.Wait()
	b.is("a", 2)
}

// Each of them waits for one of the other transactions, and none would end.
func TestTransactionsWithinTransactionsThatWouldWaitForEachOtherAreRefused(t *testing.T) {
	for conns, outer := range map[int32]int{1: 1, 2: 1, 3: 2, 4: 3} {
		t.Run(fmt.Sprint(conns, " connections"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil, nil, sized(conns))
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			var open, refused atomic.Int32
			var wg sync.WaitGroup
			for i := range outer {
				wg.Go(func() {
					id := fmt.Sprint(i)
					err := b.call(ctx, id, in(func(ctx context.Context, tx pgx.Tx) error {
						_, err := tx.Exec(ctx, add, id, 1)
						open.Add(1)
						until(t, "the others", func() bool { return open.Load() == int32(outer) })
						return errors.Join(err, b.call(ctx, "within "+id, in(func(ctx context.Context, tx pgx.Tx) error {
							_, err := tx.Exec(ctx, add, "within "+id, 1)
							return err
						})))
					}))
					want := 1
					if crowded, ok := errors.AsType[*PoolError](err); ok {
						want = 0
						refused.Add(1)
						if crowded.MaxConns != int(conns) || crowded.Err != nil || errors.Is(err, driver.ErrUnavailable) {
							t.Errorf("%+v: %v", *crowded, err)
						}
					} else if err != nil {
						t.Errorf("%T: %v", err, err)
					}
					b.is(id, want)
					b.is("within "+id, want)
				})
			}
			wg.Wait()
			check.Equal(t, refused.Load(), 1, "refused")
			b.noneHeld()
		})
	}
}

// With one connection, a call within the transaction would wait for it for ever. It is
// refused at once.
func TestPoolWithOneConnectionRefusesWhatItsTransactionWaitsFor(t *testing.T) {
	for name, fn := range map[string]func(ctx context.Context, b bench) error{
		"a nested call": func(ctx context.Context, b bench) error {
			return b.call(ctx, "within", func(context.Context) (string, error) { return "", nil })
		},
		"a read": func(ctx context.Context, b bench) error {
			_, err := b.Get(ctx, "within")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil, one)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			err := b.call(ctx, "1", in(func(ctx context.Context, tx pgx.Tx) error {
				return errors.Join(adds(ctx, tx), fn(ctx, b))
			}))
			crowded, ok := errors.AsType[*PoolError](err)
			if !ok || crowded.MaxConns != 1 || crowded.Err != nil {
				t.Errorf("%T: %v", err, err)
			}
			b.is("a", 0)
			b.noneHeld()
		})
	}
}

// Its effect would be repeated in each attempt.
func TestStepThatCouldNotBeStoredDoesNotRun(t *testing.T) {
	b := newBench(t, nil, nil, one)
	err := b.call(t.Context(), "1", in(func(ctx context.Context, tx pgx.Tx) error {
		_, _ = idempotent.Step(ctx, "charge", func(context.Context) (int, error) {
			t.Error("the step runs")
			return 1, nil
		})
		return adds(ctx, tx)
	}))
	if !errors.Is(err, idempotent.ErrStep) || !strings.Contains(err.Error(), "raise MaxConns") {
		t.Errorf("%T: %v", err, err)
	}
	b.is("a", 0)
	b.noneHeld()
}

// They wait for each other, and none for the transaction around them.
func TestCallsWithinOneTransactionWaitForEachOther(t *testing.T) {
	b := newBench(t, nil, nil, sized(4))
	const calls = 8
	err := b.call(t.Context(), "outer", func(ctx context.Context) (string, error) {
		if _, err := Transaction(ctx); err != nil {
			return "", err
		}
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() {
				check.Nil(t, b.call(ctx, i, func(ctx context.Context) (string, error) {
					_, err := Transaction(ctx)
					return "", err
				}))
			})
		}
		wg.Wait()
		return "", nil
	})
	check.Nil(t, err)
}

// A panic must not cost a transaction for the life of the process.
func TestPanicOfATracerLeavesTheTransactionFree(t *testing.T) {
	var panics atomic.Bool
	b := newBench(t, nil, nil, sized(2), func(c *pgxpool.Config) {
		c.ConnConfig.Tracer = tracer{query: func(sql string) {
			if panics.Load() && strings.HasPrefix(sql, "begin") {
				panic("a tracer")
			}
		}}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the tracer did not panic")
			}
		}()
		_ = b.call(t.Context(), "1", func(ctx context.Context) (string, error) {
			panics.Store(true)
			defer panics.Store(false)
			_, err := Transaction(ctx)
			return "", err
		})
	}()
	check.Equal(t, len(b.limit.open), 0, "transactions count as open")
	b.noneHeld()
}

// The lease cannot be extended, and the operator learns why.
func TestPoolWithOneConnectionReportsItsHeartbeat(t *testing.T) {
	var last atomic.Pointer[idempotent.Event]
	b := newBench(t, &idempotent.Config{Lease: time.Second, Observer: observer(func(e idempotent.Event) { last.Store(&e) })}, nil, one)
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	check.Is(t, err, idempotent.ErrTimedOut)
	if crowded, ok := errors.AsType[*PoolError](last.Load().Err); !ok || crowded.MaxConns != 1 {
		t.Errorf("observed: %v", last.Load().Err)
	}
}

type observer func(idempotent.Event)

func (o observer) Observe(_ context.Context, e idempotent.Event) { o(e) }

func TestTransactionThatWaitsInVainSaysWhy(t *testing.T) {
	b := newBench(t, nil, nil, sized(2))
	err := b.call(t.Context(), "first", in(func(ctx context.Context, tx pgx.Tx) error {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := b.call(t.Context(), "second", func(ctx context.Context) (string, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			context.AfterFunc(short, func() { cancel(short.Err()) })
			_, err := Transaction(ctx)
			return "", err
		})
		crowded, ok := errors.AsType[*PoolError](err)
		if !ok || crowded.MaxConns != 2 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%T: %v", err, err)
		}
		return adds(ctx, tx)
	}))
	check.Nil(t, err)
	if queued, open := b.limit.waiting(), len(b.limit.open); queued != 0 || open != 0 {
		t.Errorf("%d wait, and %d are open", queued, open)
	}
}

type poolOf struct{ *pgxpool.Pool }

func TestLimitIsThatOfThePool(t *testing.T) {
	pool := newPool(t, sized(5))
	for name, db := range map[string]DB{"a pool": pool, "a type that embeds one": poolOf{pool}} {
		if l := limitOf(db); l == nil || cap(l.open) != 4 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if unknown := limitOf(likeDSQL{pool}); unknown != nil {
		t.Errorf("a type without Stat: %v", unknown)
	}
}
