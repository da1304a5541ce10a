package idempotent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A later attempt continues after the steps that are finished.
func ExampleStep() {
	x, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mailServer := errors.New("the mail server is down")
	place := func(ctx context.Context) (string, error) {
		receipt, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
			fmt.Println("charged")
			return "receipt 1", nil
		})
		if err != nil {
			return "", err
		}
		_, err = idempotent.Step(ctx, "mail", func(ctx context.Context) (string, error) {
			return "", mailServer
		})
		return receipt, err
	}
	key := idempotent.Key{Scope: "ada", ID: "order-1"}
	_, err = idempotent.Do(context.Background(), x, key, place)
	fmt.Println(err)

	mailServer = nil
	receipt, err := idempotent.Do(context.Background(), x, key, place)
	fmt.Println(receipt, err)
	// Output:
	// charged
	// the mail server is down
	// receipt 1 <nil>
}

// A permanent error undoes the finished steps, and every repetition receives it.
func ExampleSagaStep() {
	x, err := idempotent.New("book-trip", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	book := func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "flight",
			func(context.Context) (string, error) { return "seat 7A", nil },
			func(_ context.Context, seat string) error { fmt.Println("gave back", seat); return nil })
		if err != nil {
			return "", err
		}
		return "", idempotent.Permanent(errors.New("no hotel"))
	}
	for range 2 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "trip-1"}, book)
		fmt.Println(err, errors.Is(err, idempotent.ErrReplayed))
	}
	// Output:
	// gave back seat 7A
	// no hotel false
	// no hotel true
}
