package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A payment that failed must not be reported as done because its error cannot
// be opened now.
func TestFailureThatCannotBeGivenIsNotCalledDone(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, sealing())
	if _, _, err := do(t.Context(), x, failsWith(idempotent.Permanent(errors.New("card declined")))); err == nil {
		t.Fatal("no error")
	}
	_, _, err := do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	var unavailable *idempotent.ResultUnavailableError
	if !errors.As(err, &unavailable) || !unavailable.Failed || strings.Contains(err.Error(), "done") {
		t.Errorf("got %v", err)
	}

	store = memory.New(0)
	if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), returns("paid")); err != nil {
		t.Fatal(err)
	}
	_, _, err = do(t.Context(), newExecutor(t, store, nil), mustNotRun(t))
	if !errors.As(err, &unavailable) || unavailable.Failed {
		t.Errorf("a result: %v", err)
	}
}

// Of a step that is done it does not follow that the work is.
func TestStepThatCannotBeGivenIsNamed(t *testing.T) {
	store, charged := memory.New(0), 0
	if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), charging(&charged, "receipt")); err == nil {
		t.Fatal("no error")
	}
	_, _, err := do(t.Context(), newExecutor(t, store, nil), charging(&charged, "again"))
	var unavailable *idempotent.ResultUnavailableError
	if !errors.As(err, &unavailable) || unavailable.Step != "charge" || !strings.Contains(unavailable.Reason, "Config.Sealer") {
		t.Errorf("got %v", err)
	}
}

// failing is a Sealer that cannot seal for some slots.
type failing struct {
	backwards
	slot string
}

func (f *failing) Seal(ctx context.Context, p idempotent.Place, data []byte) ([]byte, error) {
	if p.Slot == f.slot {
		return nil, idempotent.Permanent(errNetwork)
	}
	return f.backwards.Seal(ctx, p, data)
}

// Nothing is undone before it is kept, readably, what is to be undone: an
// attempt that ended in the middle could not be gone on from.
func TestNothingIsUndoneBeforeThatIsKept(t *testing.T) {
	store, sealer := memory.New(0), &failing{slot: "step::failure"}
	x := newExecutor(t, store, &idempotent.Config{Sealer: sealer})
	tr := &trip{fails: map[string]error{"car": soldOut()}}
	_, _, err := do(t.Context(), x, tr.book)
	if !errors.Is(err, idempotent.ErrCompensation) || !errors.Is(err, errNetwork) {
		t.Errorf("got %v", err)
	}
	checkDone(t, tr, "flight", "hotel", "car")
	if _, ok := stored(t, store).Steps[":failure"]; ok {
		t.Error("what cannot be read is kept")
	}
	sealer.slot = ""
	_, _, err = do(t.Context(), x, tr.book)
	if _, ok := err.(*soldOutError); !ok {
		t.Errorf("the retry: %v", err)
	}
	checkDone(t, tr, "car", "not a hotel", "not a flight")
}

// Steps count together against the record's size: one that is small by itself
// may not fit beside the others, and is kept elsewhere then.
func TestStepThatDoesNotFitIsKeptElsewhere(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	full := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps["charge"]) > 100 {
			return driver.Record{}, false, driver.ErrTooLarge
		}
		return next()
	}}
	config := &idempotent.Config{Payloads: payloads, PayloadAbove: 1 << 20}
	charged := 0
	if _, _, err := do(t.Context(), newExecutor(t, full, config), charging(&charged, large)); err == nil {
		t.Fatal("no error")
	}
	if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "@") {
		t.Errorf("stored %q", kept)
	}
	if value, _, err := do(t.Context(), newExecutor(t, full, config), charging(&charged, "again")); value != large || err != nil {
		t.Errorf("the next attempt got %.20q, %v", value, err)
	}
}

// What bounds the call of a provider does not bound the keeping of its answer.
func TestStepWithItsOwnDeadlineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Second):
				return "", nil
			}
		}
		_, _, _ = do(t.Context(), newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := idempotent.Step(short, "charge", func(context.Context) (string, error) {
				time.Sleep(900 * time.Millisecond)
				return large, nil
			})
			return "", errors.Join(errors.New("try again"), err)
		})
		if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "@") {
			t.Errorf("stored %q", kept)
		}
	})
}

// A Reserve that is larger than what is usual is time for a large payload.
func TestReserveIsTimeToPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(40 * time.Second):
				return "", nil
			}
		}
		config := spilling(payloads)
		config.Lease, config.Reserve = 10*time.Minute, 3*time.Minute
		if value, event, err := do(t.Context(), newExecutor(t, store, config), returns(large)); value != large || err != nil || event.Err != nil {
			t.Errorf("got %.10q, %v, %v", value, err, event.Err)
		}
		if r := stored(t, store); r.Payload == "" {
			t.Errorf("stored %+v", r)
		}
	})
}

// The time that a run without a claim has to record its end is counted from
// that end.
func TestLongOptimisticRunHasTimeToPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, payloads := newBank(), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(2 * time.Second):
				return "", nil
			}
		}
		config := spilling(payloads)
		config.Optimistic = true
		slow := func(context.Context) (string, error) {
			time.Sleep(2 * time.Minute)
			return large, nil
		}
		if _, event, err := do(t.Context(), newExecutor(t, b, config), slow); err != nil || event.Err != nil {
			t.Errorf("got %v, %v", err, event.Err)
		}
		if r := stored(t, b); r.Payload == "" {
			t.Errorf("stored %+v", r)
		}
	})
}
