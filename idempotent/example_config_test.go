package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// outage is a store that nobody reaches.
type outage struct{ driver.Store }

func (outage) Create(context.Context, driver.Record, time.Time, any) (driver.Record, bool, error) {
	return driver.Record{}, false, driver.ErrUnavailable
}

func (outage) Change(context.Context, driver.Fence, driver.Change) (driver.Record, bool, error) {
	return driver.Record{}, false, driver.ErrUnavailable
}

// Without its store a function refuses to run, unless it fails open: then it
// runs without protection.
func ExampleConfig_onStoreError() {
	for _, policy := range []idempotent.StoreErrorPolicy{idempotent.FailClosed, idempotent.FailOpen} {
		x, err := idempotent.New("read-price", outage{}, &idempotent.Config{
			OnStoreError: policy,
			Observer:     idempotent.NoObserver{},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		price, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "r-1"}, func(context.Context) (string, error) {
			return "12.99", nil
		})
		fmt.Printf("%q %v\n", price, errors.Is(err, idempotent.ErrStore))
	}
	// Output:
	// "" true
	// "12.99" false
}

// Duplicates that arrive while the first call runs wait for its result.
func ExampleConfig_wait() {
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Wait: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			receipt, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
				fmt.Println("charging")
				return "receipt 1", nil
			})
			if receipt != "receipt 1" || err != nil {
				fmt.Println(receipt, err)
			}
		})
	}
	calls.Wait()
	// Output:
	// charging
}

// outcomes is an Observer that prints how calls ended.
type outcomes struct{}

func (outcomes) Observe(_ context.Context, e idempotent.Event) {
	fmt.Println(e.Operation, e.Outcome, "attempt", e.Attempt)
}

// An Observer receives the outcome of every call.
func ExampleObserver() {
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Observer: outcomes{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	problem := errors.New("the bank is closed")
	for range 3 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			return "receipt 1", problem
		})
		problem = nil
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// create-payment released attempt 1
	// the bank is closed
	// create-payment executed attempt 1
	// create-payment replayed attempt 0
}

// A LogObserver writes one line a call, each at a level of its own.
func ExampleLogObserver() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.LevelKey, "operation", "outcome":
				return a
			}
			return slog.Attr{} // times differ
		},
	}))
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Observer: idempotent.LogObserver{Logger: logger}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, amount := range []int{1299, 1299, 9900} {
		key := idempotent.Key{ID: "p-1", Payload: amount}
		_, err := idempotent.Do(context.Background(), x, key, func(context.Context) (string, error) { return "receipt 1", nil })
		if err != nil && !errors.Is(err, idempotent.ErrKeyReused) {
			fmt.Println(err)
		}
	}
	// Output:
	// level=DEBUG operation=create-payment outcome=executed
	// level=DEBUG operation=create-payment outcome=replayed
	// level=INFO operation=create-payment outcome=mismatch
}
