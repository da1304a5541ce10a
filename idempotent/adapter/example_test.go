package adapter_test

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
)

// An adapter reads how a call ended, for example to add a header to replays.
func ExampleWithEvent() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		ctx, event := adapter.WithEvent(context.Background())
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) { return "", nil })
		fmt.Println(event.Outcome, err)
	}
	// Output:
	// executed <nil>
	// replayed <nil>
}
