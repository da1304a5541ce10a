package memory_test

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A unit test of a handler needs no server. The limit bounds the records.
func ExampleNew() {
	store := memory.New(100)
	x, err := idempotent.New("create-payment", store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	charges := 0
	for range 3 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			charges++
			return "receipt 1", nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("charges:", charges)
	// Output:
	// charges: 1
}
