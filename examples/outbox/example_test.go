package outbox_test

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/examples/outbox"
	"github.com/lambda-once/once/handlers/relay"
)

// One transaction has written two messages of one order. The relay sends them to
// their destinations, the second after the first, and marks the items.
func Example() {
	aws := &service{} // sqs.NewFromConfig(cfg) and so on
	publish := outbox.Route(map[string]outbox.Publish{
		"orders": outbox.SQS(aws, "https://queue/orders.fifo"),
		"audit":  outbox.EventBridge(aws, "default", "com.example.orders"),
	})
	relay := relay.Outbox(publish, &relay.Options{
		Mark: func(ctx context.Context, keys []relay.Key) error {
			fmt.Println("published", keys)
			return nil
		},
	}) // lambda.Start(relay)

	answer, err := relay(context.Background(), inserted("order-7", "orders", "audit"))
	for _, call := range aws.calls {
		for _, m := range call {
			fmt.Printf("%s %q %q %q\n", m.body, m.group, m.deduplication, m.kind)
		}
	}
	fmt.Println(answer.BatchItemFailures, err)
	// Output:
	// published [{order-7 item 2025-11-21 04:40:01 +0000 UTC}]
	// {} "order-7" "item-0" ""
	// {"once_key":"item-1"} "" "" "placed of com.example.orders"
	// [] <nil>
}

// inserted returns the stream's event of an item of the outbox.
func inserted(aggregate string, destinations ...string) events.DynamoDBEvent {
	text, object := events.NewStringAttribute, events.NewMapAttribute
	var messages []events.DynamoDBAttributeValue
	for i, destination := range destinations {
		messages = append(messages, object(map[string]events.DynamoDBAttributeValue{
			"id": text(fmt.Sprint("item-", i)), "destination": text(destination), "type": text("placed"), "body": events.NewBinaryAttribute([]byte("{}")),
		}))
	}
	key := map[string]events.DynamoDBAttributeValue{"aggregate": text(aggregate), "id": text("item")}
	image := maps.Clone(key)
	image["created"] = events.NewNumberAttribute("1763700001000")
	image["messages"] = events.NewListAttribute(messages)
	return events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
		EventID: "e0", EventName: "INSERT", EventSource: "aws:dynamodb",
		Change: events.DynamoDBStreamRecord{Keys: key, NewImage: image, SequenceNumber: "100"},
	}}}
}
