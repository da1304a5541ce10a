package handlers_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Step Functions retry a task. The state's ErrorEquals matches "CardDeclined" in
// the first execution and in the repetition.
func ExampleInvoke() {
	x, err := idempotent.New("charge-card", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	charge := func(_ context.Context, o Order) (string, error) {
		fmt.Println("charging for", o.ID)
		if o.ID == "order-2" {
			return "", idempotent.Permanent(messages.InvokeResponse_Error{Type: "CardDeclined", Message: "insufficient funds"})
		}
		return "receipt of " + o.ID, nil
	}
	handler := handlers.Invoke(x, idempotent.Field(func(o Order) string { return o.ID }), charge)
	for _, id := range []string{"order-1", "order-1", "order-2", "order-2"} {
		receipt, err := handler(context.Background(), Order{ID: id})
		if declined, ok := err.(messages.InvokeResponse_Error); ok {
			fmt.Println(declined.Type)
			continue
		}
		fmt.Println(receipt, err)
	}
	// Output:
	// charging for order-1
	// receipt of order-1 <nil>
	// receipt of order-1 <nil>
	// charging for order-2
	// CardDeclined
	// CardDeclined
}
