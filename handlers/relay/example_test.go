package relay_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
)

// A relay publishes to two destinations. The mail service is down: later messages
// of its aggregate wait, and the stream is delivered again from there. The packages
// below this one publish to SQS, SNS and EventBridge.
func ExampleOutbox() {
	send := map[string]func(driver.OutboxMessage) error{
		"orders": func(m driver.OutboxMessage) error { fmt.Println("order", m.ID); return nil },
		"mails":  func(driver.OutboxMessage) error { return errors.New("503") },
	}
	publish := func(ctx context.Context, destination string, batch []driver.OutboxMessage) ([]error, error) {
		to, ok := send[destination]
		if !ok {
			return nil, fmt.Errorf("the destination %q is unknown", destination)
		}
		failed := make([]error, len(batch))
		for i, m := range batch {
			failed[i] = to(m)
		}
		return failed, nil
	}
	mark := func(ctx context.Context, keys []driver.OutboxKey) error {
		fmt.Println("published", keys)
		return nil
	}
	handler := relay.Outbox(publish, &relay.Options{Mark: mark, OnFailure: func(_ context.Context, failed *handlers.RecordError) {
		fmt.Println(failed)
	}}) // lambda.Start(handler)

	var event events.DynamoDBEvent
	if err := readEvent("testdata/outbox.json", &event); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	response, err := handler(context.Background(), event)
	fmt.Println(response.BatchItemFailures, err)
	// Output:
	// order 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae-0
	// order fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9-0
	// published [{order-2 fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9 2025-11-21 04:40:01 +0000 UTC}]
	// handlers: outbox record 0 (111100000000000000000): 503
	// [{111100000000000000000}] <nil>
}
