package outbox_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// The example runs on DynamoDB Local. A function uses dynamodb.NewFromConfig.
func localClient() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
		Region: "eu-central-1",
	})
}

// placed publishes a message, and returns the table of the outbox.
func placed(ctx context.Context, client *dynamodb.Client) string {
	records, messages := "records-"+rand.Text(), "outbox-"+rand.Text()
	if err := dynamo.CreateTable(ctx, client, records, nil); err != nil {
		log.Fatal(err)
	}
	if err := outbox.CreateTable(ctx, client, messages); err != nil {
		log.Fatal(err)
	}
	store, err := dynamo.New(client, records, &dynamo.Options{Outbox: messages})
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("place-order", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = idempotent.Do(ctx, x, idempotent.Key{ID: "order-7"}, func(ctx context.Context) (string, error) {
		dynamo.Collect(ctx).Publish(driver.OutboxMessage{
			Aggregate: "order-7", Destination: "order-events", Type: "OrderPlaced", Body: []byte(`{"id":"order-7"}`),
		})
		return "placed", nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return messages
}

// A program that runs now and then publishes what the relay has lost or given
// up. An operator would pass a time some minutes ago.
func ExampleOutbox_Pending() {
	ctx, client := context.Background(), localClient()
	o, err := outbox.New(client, placed(ctx, client), nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		pending := 0
		for item, err := range o.Pending(ctx, time.Now().Add(time.Second)) {
			if err != nil {
				log.Fatal(err)
			}
			pending++
			for _, m := range item.Messages {
				fmt.Printf("publish to %s: %s %s\n", m.Destination, m.Type, m.Body)
			}
			if err := o.Mark(ctx, item.Aggregate, item.ID, item.Created); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Println(pending, "pending")
	}
	// Output:
	// publish to order-events: OrderPlaced {"id":"order-7"}
	// 1 pending
	// 0 pending
}
