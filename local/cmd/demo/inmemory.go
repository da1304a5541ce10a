package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// inMemory plays the storm in this process alone, with an executor for each
// environment on one store in memory.
func inMemory(ctx context.Context, tell *timeline) error {
	tell.title("A storm: one payment of 12.99, sent %d times at once, in one process", requests)
	store := memory.New(0)
	var charges, created, conflicts atomic.Int64
	pay := func(ctx context.Context) (string, error) {
		charges.Add(1)
		return "paid", pause(ctx, time.Second)
	}
	executors := make([]*idempotent.Executor, environments)
	for i := range executors {
		var err error
		if executors[i], err = idempotent.New("create-payment", store, nil); err != nil {
			return err
		}
	}
	key := idempotent.Key{ID: "8e03978e-40d5-43dd-bc93-6894a57f9324", Payload: 1299}
	send := func(n int) {
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() {
				switch got, err := idempotent.Do(ctx, executors[i%environments], key, pay); {
				case err == nil && got == "paid":
					created.Add(1)
				case errors.Is(err, idempotent.ErrInProgress):
					conflicts.Add(1)
				}
			})
		}
		group.Wait()
	}
	send(requests)
	retries := conflicts.Load()
	tell.note("while it is charged: %d paid, %d in progress", created.Load(), retries)
	send(int(retries))
	tell.note("the %d refused ones retry: %d paid in all", retries, created.Load())
	tell.line("\nThe storm of %d duplicates at once in one process (a second process would know nothing of them):", requests)
	tell.line("charges: %d", charges.Load())
	if charges.Load() != 1 || created.Load() != requests {
		return fmt.Errorf("%d charges and %d answers, want 1 and %d", charges.Load(), created.Load(), requests)
	}
	return nil
}
