package dynamoenv_test

import (
	"context"
	"log"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/idempotent"
)

// A function with tables of its own shares one client, and so its connections, with the
// store of $IDEMPOTENCY_TABLE.
func ExampleOpen() {
	ctx := context.Background()
	client, err := dynamoenv.Client(ctx)
	if err != nil {
		log.Fatal(err)
	}
	store, err := dynamoenv.Open(ctx, &dynamoenv.Options{Client: client})
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("create-payment", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	_ = x // for idempotent.Wrap
}
