package idempotent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
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

// Do protects any function, for example one message of a batch.
func ExampleDo() {
	x, err := idempotent.New("send-mail", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	send := func(context.Context) (string, error) {
		fmt.Println("sending")
		return "message 7", nil
	}
	for _, id := range []string{"m-1", "m-1", "m-2"} {
		fmt.Println(idempotent.Do(context.Background(), x, idempotent.Key{ID: id}, send))
	}
	// Output:
	// sending
	// message 7 <nil>
	// message 7 <nil>
	// sending
	// message 7 <nil>
}

// A handler without a result runs once as well.
func ExampleWrapEffect() {
	type Order struct{ ID string }
	x, err := idempotent.New("ship-order", memory.New(0), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ship := idempotent.WrapEffect(x, idempotent.Field(func(o Order) string { return o.ID }),
		func(_ context.Context, o Order) error {
			fmt.Println("shipping", o.ID)
			return nil
		})
	for range 2 {
		fmt.Println(ship(context.Background(), Order{"o-1"}))
	}
	// Output:
	// shipping o-1
	// <nil>
	// <nil>
}

// A permanent error is stored, and every retry receives it.
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

// With MaxAttempts 1 nothing runs again after a failure that may have had an
// effect. An error marked Retryable had none, and does not count.
func ExampleRetryable() {
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{MaxAttempts: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	problems := []error{
		idempotent.Retryable(errors.New("the bank is closed")),
		errors.New("the connection broke: charged or not?"),
	}
	for range 3 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			problem := problems[0]
			problems = problems[1:]
			return "", problem
		})
		if errors.Is(err, idempotent.ErrOutcomeUnknown) {
			fmt.Println("a person has to look")
			continue
		}
		fmt.Println(err)
	}
	// Output:
	// the bank is closed
	// the connection broke: charged or not?
	// a person has to look
}

// The service that performs the effect receives a key that is the same in every
// attempt. It recognises a repetition that Once cannot rule out.
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
