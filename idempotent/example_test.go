package idempotent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
)

// A handler that is sent the same payment twice charges once.
func ExampleWrap() {
	type Payment struct {
		Customer, ID string
		Amount       int64
	}
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := idempotent.Wrap(x, func(p Payment) (idempotent.Key, error) {
		return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
	}, func(_ context.Context, p Payment) (string, error) {
		fmt.Println("charging", p.Amount)
		return "receipt for " + p.ID, nil
	})

	ctx := context.Background()
	for range 2 {
		fmt.Println(handler(ctx, Payment{"ada", "p-1", 1299}))
	}
	_, err = handler(ctx, Payment{"ada", "p-1", 9900})
	fmt.Println(errors.Is(err, idempotent.ErrKeyReused))
	// Output:
	// charging 1299
	// receipt for p-1 <nil>
	// receipt for p-1 <nil>
	// true
}

// An error that no retry can mend is stored, and every retry gets it back.
func ExamplePermanent() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			fmt.Println("asking the bank")
			return "", idempotent.Permanent(errors.New("the card was declined"))
		})
		fmt.Println(err, errors.Is(err, idempotent.ErrReplayed))
	}
	// Output:
	// asking the bank
	// the card was declined false
	// the card was declined true
}

// The ID is taken from JSON that is embedded in the request, and its scope
// from the caller's identity.
func ExamplePath() {
	key := idempotent.WithScope(
		keypath.Path[map[string]any]("powertools_json(body).order.id"),
		keypath.Path[map[string]any]("user.sub"),
	)
	fmt.Println(key(map[string]any{"body": `{"order":{"id":"o-1"}}`, "user": map[string]any{"sub": "ada"}}))
	_, err := key(map[string]any{"body": `{"order":{"id":"o-1"}}`})
	fmt.Println(err)
	// Output:
	// {ada o-1 <nil>  } <nil>
	// idempotent: the request has no idempotency key: its scope is missing, null or empty
}

// The service that performs the effect gets a key that is the same in every
// attempt, so that it recognises a repetition that we cannot rule out.
func ExampleDownstreamKey() {
	x, err := idempotent.New("create-payment", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	charge := func(ctx context.Context) (string, error) {
		fmt.Println("Idempotency-Key:", idempotent.DownstreamKey(ctx, "charge"))
		return "", errors.New("the connection broke: charged or not?")
	}
	for range 2 {
		if _, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, charge); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// Idempotency-Key: 37ecc0b8-635c-8c21-9b34-5a3358a0c4ed
	// the connection broke: charged or not?
	// Idempotency-Key: 37ecc0b8-635c-8c21-9b34-5a3358a0c4ed
	// the connection broke: charged or not?
}

// An adapter learns how a call ended, here to mark replays.
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
