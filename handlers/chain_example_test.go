package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A function sends a message, fails, and sends it again in its second attempt.
// The receiver handles it once, because both messages carry the same chain key.
func ExampleChainAttributes() {
	sender, err := idempotent.New("place-order", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	receiver, err := idempotent.New("send-mail", memory.New(0), nil)
	if err != nil {
		log.Fatal(err)
	}
	mail := handlers.SQS(receiver, nil, func(_ context.Context, m handlers.SQSMessage[string]) error {
		fmt.Println("mail:", m.Body)
		return nil
	}, nil)

	sent := 0
	place := func(ctx context.Context) (string, error) {
		sent++
		message := events.SQSMessage{MessageId: fmt.Sprint("m", sent), Body: "order-1 is placed", MessageAttributes: map[string]events.SQSMessageAttribute{}}
		for name, value := range handlers.ChainAttributes(ctx, "mail") {
			message.MessageAttributes[name] = events.SQSMessageAttribute{DataType: "String", StringValue: &value}
		}
		if _, err := mail(ctx, events.SQSEvent{Records: []events.SQSMessage{message}}); err != nil {
			return "", err
		}
		if sent == 1 {
			return "", errors.New("connection reset")
		}
		return "placed", nil
	}
	for range 2 {
		fmt.Println(idempotent.Do(context.Background(), sender, idempotent.Key{ID: "order-1"}, place))
	}
	fmt.Println("messages sent:", sent)
	// Output:
	// mail: order-1 is placed
	//  connection reset
	// placed <nil>
	// messages sent: 2
}
