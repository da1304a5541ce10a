package otel_test

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/otel"
)

// Without providers in the options, the program's global ones.
func Example() {
	x, err := observed(memory.New(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(idempotent.Do(context.Background(), x, idempotent.Key{ID: "o-17"}, func(context.Context) (string, error) {
		return "placed", nil
	}))
	// Output: placed <nil>
}

func observed(store driver.Store) (*idempotent.Executor, error) {
	telemetry, err := otel.New(&otel.Options{Table: "idempotency", Trigger: "pubsub"})
	if err != nil {
		return nil, err
	}
	return idempotent.New("place-order", store, &idempotent.Config{Observer: telemetry})
}
