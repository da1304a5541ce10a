package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// The call does not know of its claim, so it creates the record with its transaction, and
// meets the claim. It is then completed as any other.
func TestTransactionOfACallThatFailedOpenCompletesItsClaim(t *testing.T) {
	const claims = "INSERT INTO"
	for way, effect := range ways {
		for protocol, change := range map[string]func(*pgxpool.Config){
			"extended": func(*pgxpool.Config) {}, "simple": simple, "repeatable read": snapshots,
		} {
			for _, lose := range []string{"answer", "request"} {
				t.Run(way+", "+protocol+", "+lose, func(t *testing.T) {
					t.Parallel()
					w := newNetwork(t)
					b := newBench(t, &idempotent.Config{OnStoreError: idempotent.FailOpen, Lease: 30 * time.Second}, nil, w.through, one, change)
					w.losingOf(lose, claims)
					runs := 0
					handler := func(ctx context.Context) (string, error) {
						if runs++; lose == "answer" && b.stored().Status != driver.InProgress {
							t.Error("the claim has not landed")
						}
						return "paid", effect(ctx, "a")
					}
					for range 2 {
						if got, err := b.do(handler); err != nil || got != "paid" {
							t.Fatalf("%q, %T: %v", got, err, err)
						}
					}
					if r := b.stored(); r.Status != driver.Completed || runs != 1 {
						t.Errorf("%d runs, the record is %q", runs, r.Status)
					}
					b.is("a", 1)
					b.noneHeld()
				})
			}
		}
	}
}

// A claim that a successor has taken over is not completed.
func TestTransactionOfACallThatFailedOpenLeavesTheClaimOfASuccessor(t *testing.T) {
	w := newNetwork(t)
	b := newBench(t, &idempotent.Config{OnStoreError: idempotent.FailOpen, Lease: 30 * time.Second}, nil, w.through)
	w.losingOf("answer", "INSERT INTO")
	_, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		r := b.stored()
		next := driver.Change{Owner: "successor", Lease: time.Now().Add(time.Minute), Expires: r.Expires}
		if _, ok, err := b.Change(ctx, driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}, next); !ok || err != nil {
			t.Errorf("take over: ok %v, %v", ok, err)
		}
		return adds(ctx, tx)
	}))
	check.Is(t, err, idempotent.ErrInProgress)
	b.is("a", 0)
	b.noneHeld()
}

// The handler runs a second time, under a claim: the locks of its first run would block it.
func TestOptimisticTransactionThatMeetsALapsedClaimFreesItsLocks(t *testing.T) {
	b := newBench(t, &idempotent.Config{Optimistic: true, Lease: 30 * time.Second}, nil)
	r := claim(theKey.Record, "other")
	r.Lease, r.Expires, r.Fingerprint = time.Now().Add(-time.Minute), time.Now().Add(time.Hour), ""
	create(t, b.Store, r)
	runs := 0
	got, err := b.do(in(func(ctx context.Context, tx pgx.Tx) error {
		runs++
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = 1000"); err != nil {
			return err
		}
		return adds(ctx, tx)
	}))
	if err != nil || got != "paid" || runs != 2 {
		t.Errorf("%q after %d runs, %v", got, runs, err)
	}
	b.is("a", 1)
	b.noneHeld()
}
