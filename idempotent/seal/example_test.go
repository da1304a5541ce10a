package seal_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
)

// Results under a fixed key. A real one is random, and comes from a secret store.
func ExampleStatic() {
	key := bytes.Repeat([]byte{7}, seal.SecretBytes)
	keys, err := seal.Static("2026", map[string][]byte{"2026": key})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Sealer: seal.New(keys, nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		receipt, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			fmt.Println("charged")
			return "card 4242", nil
		})
		fmt.Println(receipt, err)
	}
	// Output:
	// charged
	// card 4242 <nil>
	// card 4242 <nil>
}
