package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// ways are the two kinds of transactions, each with one effect.
var ways = map[string]func(ctx context.Context, id string) error{
	"Tx": func(ctx context.Context, id string) error {
		Collect(ctx).Exec(add, id, 1)
		return nil
	},
	"Transaction": func(ctx context.Context, id string) error {
		tx, err := Transaction(ctx)
		if err == nil {
			_, err = tx.Exec(ctx, add, id, 1)
		}
		return err
	},
}

// Whatever is lost of the commit, the effect is there if and only if the call says so,
// and a retry does not repeat it.
func TestLostCommit(t *testing.T) {
	for way, effect := range ways {
		for _, lose := range []string{"request", "answer", "late"} {
			for mode, config := range map[string]*idempotent.Config{
				"claimed":    {Lease: 6 * time.Second},
				"optimistic": {Optimistic: true, Lease: 6 * time.Second},
			} {
				t.Run(way+" "+lose+" "+mode, func(t *testing.T) {
					t.Parallel()
					w := newNetwork(t)
					b := newBench(t, config, nil, w.through)
					w.losing(lose)
					runs := 0
					handler := func(ctx context.Context) (string, error) {
						runs++
						return "paid", effect(ctx, "a")
					}
					_, err := b.do(handler)
					after := b.value("a")
					if lose == "late" {
						(<-w.late)()
						if got := b.value("a"); got != after && mode == "claimed" {
							t.Errorf("%d effects, and %d when the commit arrived late: %v", after, got, err)
						}
						after = b.value("a")
					}
					t.Logf("%d effects, %v", after, err)
					switch {
					case err == nil && after != 1:
						t.Errorf("success with %d effects", after)
					case errors.Is(err, idempotent.ErrStore):
						failed, _ := errors.AsType[*idempotent.StoreError](err)
						if !failed.RolledBack || after != 0 {
							t.Errorf("%d effects: %v", after, err)
						}
						if lose == "request" && !strings.Contains(err.Error(), "cannot be sent again: postgres: ") {
							t.Errorf("the cause is missing: %v", err)
						}
					case err != nil && !errors.Is(err, idempotent.ErrOutcomeUnknown):
						t.Errorf("%T: %v", err, err)
					case errors.Is(err, idempotent.ErrOutcomeUnknown) && mode == "claimed":
						t.Errorf("the claim decides nothing: %v", err)
					}
					if got, err := b.do(handler); err != nil || got != "paid" {
						t.Errorf("retry: %q, %v", got, err)
					}
					b.is("a", 1)
					if want := 2 - after; runs != want && mode == "claimed" { // an optimistic handler runs in vain
						t.Errorf("ran %d times, want %d", runs, want)
					}
				})
			}
		}
	}
}

// Without a record nothing decides: a second try could commit twice.
func TestLostCommitWithoutARecordIsUnknown(t *testing.T) {
	for way, effect := range ways {
		for _, lose := range []string{"answer", "late"} {
			t.Run(way+" "+lose, func(t *testing.T) {
				t.Parallel()
				w := newNetwork(t)
				b := newBench(t, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey, Lease: 6 * time.Second}, nil, w.through)
				w.losing(lose)
				_, err := idempotent.Do(t.Context(), b.x, idempotent.Key{}, func(ctx context.Context) (string, error) { return "", effect(ctx, "a") })
				check.Is(t, err, idempotent.ErrOutcomeUnknown)
				if lose == "late" {
					(<-w.late)()
				}
				b.is("a", 1)
			})
		}
	}
}

// A COMMIT that arrives after the release of its call, or after a later attempt, has no
// effect.
func TestLateCommitIsFenced(t *testing.T) {
	for way, effect := range ways {
		t.Run(way, func(t *testing.T) {
			w := newNetwork(t)
			b := newBench(t, &idempotent.Config{Lease: 6 * time.Second}, nil, w.through)
			w.losing("late")
			// The collected statements are sent once more at once.
			_, err := b.do(func(ctx context.Context) (string, error) { return "first", effect(ctx, "a") })
			if failed, ok := errors.AsType[*idempotent.StoreError](err); way == "Transaction" && (!ok || !failed.RolledBack) || way == "Tx" && err != nil {
				t.Errorf("first: %v", err)
			}
			deliver := <-w.late
			// The server still has the first transaction, with the locks of its rows.
			got, err := b.do(func(ctx context.Context) (string, error) { return "second", effect(ctx, "b") })
			check.Must(t, err)
			deliver()
			for id, attempt := range map[string]string{"a": "first", "b": "second"} {
				want := 0
				if got == attempt {
					want = 1
				}
				b.is(id, want)
			}
			if r := b.stored(); r.Status != driver.Completed || string(r.Data) != `"`+got+`"` {
				t.Errorf("the record is %q with %s", r.Status, r.Data)
			}
		})
	}
}
