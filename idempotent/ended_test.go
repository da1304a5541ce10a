package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// afterAMinute runs fn a minute after the claim.
func afterAMinute(fn func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		time.Sleep(time.Minute)
		return fn(ctx)
	}
}

func TestFinishedRecordSaysHowAndWhenItEnded(t *testing.T) {
	funds := driver.Ending{Type: "insufficientFundsError", Code: "funds"}
	refused := idempotent.Permanent(&insufficientFundsError{5})
	sold := driver.Ending{Type: "soldOutError"}
	trip := &trip{fails: map[string]error{"car": soldOut()}}
	for name, c := range map[string]struct {
		config idempotent.Config
		fn     func(context.Context) (string, error)
		want   driver.Ending // besides the time
	}{
		"completed":                        {fn: returns("done")},
		"completed without its result":     {config: idempotent.Config{Codec: refusing{}}, fn: returns("done")},
		"failed":                           {fn: failsWith(refused), want: funds},
		"completed in a transaction":       {fn: books("x", nil)},
		"failed by its transaction":        {fn: books("x", soldOut()), want: sold},
		"failed after undoing":             {fn: trip.book, want: sold},
		"optimistic":                       {config: *optimistic, fn: books("x", nil)},
		"optimistic and failed":            {config: *optimistic, fn: failsWith(refused), want: funds},
		"optimistic without a transaction": {config: *optimistic, fn: returns("done")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBank()
				c.config.Lease = time.Hour
				c.want.At = driver.WholeMillis(time.Now().Add(time.Minute))
				do(t.Context(), newExecutor(t, b, &c.config), afterAMinute(c.fn))
				check.Equal(t, stored(t, b).Ended, c.want)
			})
		})
	}
}

// A transaction that is sent again must be the same to the last bit, and a record must say
// when its work ended, not when the store could be reached.
func TestFinishThatIsSentAgainHasTheSameEnding(t *testing.T) {
	for name, fn := range map[string]func(context.Context) (string, error){
		"completed": returns("done"), "failed": failsWith(soldOut()), "in a transaction": books("x", nil),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent []driver.Ending
				b := newBank()
				b.on = on(func(w write) bool { return w.change.Status != driver.Absent }, func(w write) (driver.Record, bool, error) {
					sent = append(sent, w.change.Ended)
					if len(sent) < 3 {
						time.Sleep(time.Second)
						return driver.Record{}, false, errNetwork
					}
					return w.send()
				})
				end := driver.WholeMillis(time.Now().Add(time.Minute))
				do(t.Context(), newExecutor(t, b, &idempotent.Config{Lease: time.Hour}), afterAMinute(fn))
				check.Equal(t, len(sent), 3)
				for _, e := range sent {
					check.Equal(t, e, stored(t, b).Ended)
				}
				check.Time(t, stored(t, b).Ended.At, end)
			})
		})
	}
}
