package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// crashed stores an order whose function has ended its process.
func crashed(t *testing.T, store *memory.Store, id string) {
	t.Helper()
	lapsed := driver.Record{ID: idOf(t, id), Status: driver.InProgress, Owner: "crashed", Attempt: 1, Lease: time.UnixMilli(1), Expires: time.Now().Add(time.Hour)}
	_, _, err := store.Create(t.Context(), lapsed, time.Time{}, nil)
	check.Must(t, err)
}

// It may end its process again, before a completion that is on its way arrives.
func TestFunctionThatMayHaveEndedItsProcessStartsWhenAllOthersAreRecorded(t *testing.T) {
	for name, last := range map[string]string{"a second attempt": "o04", "no key": ""} {
		for _, ahead := range []int{-1, 2, 10} {
			t.Run(fmt.Sprint(name, ", ahead ", ahead), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					records, ran := memory.New(0), false
					crashed(t, records, "o04")
					d := &distant{Store: records}
					x := newExecutor(t, d, &idempotent.Config{Ahead: ahead, OnMissingKey: idempotent.RunMissingKey})
					handler := handlers.SQS(x, orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
						if m.Body.ID == last {
							ran = true
							check.Equal(t, d.unrecorded, 0)
							return nil
						}
						d.run(m.Body.ID)
						return nil
					}, &handlers.SQSOptions{OnFailure: quiet, Unrecorded: 5})
					messages, _ := orders(4)
					reports(t, t.Context(), handler, append(messages, message("m04", order{ID: last})), "")
					check.True(t, ran)
				})
			})
		}
	}
}

// The answer to a claim ahead ends the wait of completions, long before the turn.
func TestCompletionDoesNotWaitInABatchWithASecondAttempt(t *testing.T) {
	for name, held := range map[string]bool{"o01": true, "o02": false} {
		synctest.Test(t, func(t *testing.T) {
			records := memory.New(0)
			if !held {
				crashed(t, records, "o02")
			}
			store := intercepted{records, func(ctx context.Context, c storeCall, call func() error) error {
				if _, late := driver.Arrive(ctx); c.id == idOf(t, "o01") && c.change.Status == driver.Completed {
					check.Equal(t, late != nil, held, name)
				}
				return call()
			}}
			handler := handlers.SQS(newExecutor(t, store, nil), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				if m.Body.ID == "o00" {
					time.Sleep(time.Minute)
				}
				time.Sleep(time.Second)
				return nil
			}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
			messages, _ := orders(3)
			reports(t, t.Context(), handler, inGroups(messages, "a", "b"), "")
		})
	}
}

// The wait for the others may take the time that a function needs. One that does not
// begin has no effects, whatever ended its wait.
func TestFunctionThatHasWaitedForTheOthersKeepsItsMargin(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, ahead := range []int{-1, 10} {
		for takes, want := range map[time.Duration]struct{ began, reported string }{
			2000 * time.Millisecond: {"o00 o01 ", ""},
			2700 * time.Millisecond: {"o00 ", "m01"},
			time.Hour:               {"o00 ", "m00 m01"},
		} {
			synctest.Test(t, func(t *testing.T) {
				records, began := memory.New(0), ""
				crashed(t, records, "o01")
				store := intercepted{records, func(ctx context.Context, c storeCall, call func() error) error {
					if c.id == idOf(t, "o00") && c.change.Status == driver.Completed {
						select {
						case <-time.After(takes):
						case <-ctx.Done():
							return ctx.Err()
						}
					}
					return call()
				}}
				observer := handlertest.Observer(func(e idempotent.Event) { check.Differ(t, e.Outcome, idempotent.OutcomeTimedOut) })
				handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Ahead: ahead, Margin: 3 * time.Second, Observer: observer}), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
					began += m.Body.ID + " "
					return nil
				}, &handlers.SQSOptions{OnFailure: quiet, Unrecorded: 5})
				messages, _ := orders(2)
				reports(t, within(t, 6*time.Second), handler, messages, want.reported, ahead, takes)
				check.Equal(t, began, want.began, ahead, takes)
			})
		}
	}
}

// A completion that waits is lost if a function ends the process. One that does so at each
// delivery must not repeat the others each time, or use up their attempts.
func TestCompletionsDoNotWaitWhereACrashCostsMore(t *testing.T) {
	for _, test := range []struct {
		name     string
		config   *idempotent.Config
		repeated bool
		waits    bool
	}{
		{"first attempts", nil, false, true},
		{"a second attempt", nil, true, false},
		{"limited attempts", &idempotent.Config{MaxAttempts: 3}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			waits := false
			began, completed := make(chan struct{}), make(chan struct{})
			records := memory.New(0)
			store := intercepted{records, func(ctx context.Context, c storeCall, call func() error) error {
				_, late := driver.Arrive(ctx)
				if c.change.Status == driver.Completed && !isClosed(completed) {
					waits = late != nil
					close(completed)
				}
				return call()
			}}
			handler := handlers.SQS(newExecutor(t, store, test.config), orderID, func(_ context.Context, m handlers.SQSMessage[order]) error {
				if m.Body.ID == "slow" {
					close(began)
					<-completed
				}
				<-began
				return nil
			}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
			slow, fast := message("m1", order{ID: "slow"}), message("m2", order{ID: "fast"})
			if test.repeated {
				crashed(t, records, "slow")
			}
			reports(t, t.Context(), handler, batch{slow, fast}, "")
			check.Equal(t, waits, test.waits)
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
