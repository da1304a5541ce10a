package idempotent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

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
