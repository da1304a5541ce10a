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

// Each customer has keys of their own, and one key with two amounts is refused.
func ExampleField() {
	type Payment struct {
		Customer, ID string
		Amount       int64
	}
	key := idempotent.Field(func(p Payment) string { return p.ID })
	key = idempotent.WithScope(key, idempotent.Field(func(p Payment) string { return p.Customer }))
	key = idempotent.WithPayload(key, func(p Payment) any { return p.Amount })

	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	pay := idempotent.Wrap(x, key, func(_ context.Context, p Payment) (string, error) {
		return fmt.Sprintf("%s paid %d", p.Customer, p.Amount), nil
	})
	for _, p := range []Payment{{"ada", "1", 1299}, {"bob", "1", 500}, {"ada", "1", 1299}, {"ada", "1", 9900}} {
		receipt, err := pay(context.Background(), p)
		fmt.Printf("%q %v\n", receipt, errors.Is(err, idempotent.ErrKeyReused))
	}
	// Output:
	// "ada paid 1299" false
	// "bob paid 500" false
	// "ada paid 1299" false
	// "" true
}

// A request of no customer is refused: all such requests would share one scope.
func ExampleWithScope() {
	type Payment struct{ Customer, ID string }
	key := idempotent.WithScope(
		idempotent.Field(func(p Payment) string { return p.ID }),
		idempotent.Field(func(p Payment) string { return p.Customer }))
	for _, p := range []Payment{{"ada", "1"}, {"", "1"}} {
		k, err := key(p)
		fmt.Printf("%q %q %v\n", k.Scope, k.ID, errors.Is(err, idempotent.ErrMissingKey))
	}
	// Output:
	// "ada" "1" false
	// "" "" true
}

// A request without an ID is its own key: equal requests run once.
func ExampleWholePayload() {
	type Report struct{ Month string }
	x, err := idempotent.New("write-report", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	write := idempotent.Wrap(x, idempotent.WholePayload[Report](), func(_ context.Context, r Report) (string, error) {
		fmt.Println("writing", r.Month)
		return "report of " + r.Month, nil
	})
	for _, month := range []string{"May", "June", "May"} {
		fmt.Println(write(context.Background(), Report{month}))
	}
	// Output:
	// writing May
	// report of May <nil>
	// writing June
	// report of June <nil>
	// report of May <nil>
}

// A message to another function has a key that is the same in every attempt.
func ExampleChainKey() {
	x, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	queue := errors.New("the queue is full")
	publish := func(ctx context.Context) (string, error) {
		fmt.Println("sending with key", idempotent.ChainKey(ctx, "invoice"))
		return "placed", queue
	}
	for range 2 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "o-1"}, publish)
		fmt.Println(err)
		queue = nil
	}
	// Output:
	// sending with key 634e3454fb6d3bd57d28abcae19b220e:invoice
	// the queue is full
	// sending with key 634e3454fb6d3bd57d28abcae19b220e:invoice
	// <nil>
}
