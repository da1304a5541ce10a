package main

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestRedeliveredOrderIsShippedOnce(t *testing.T) {
	shipped := map[string]int{}
	s := shop{ship: func(_ context.Context, _ string, o order) error {
		shipped[o.OrderID]++
		return nil
	}}
	x, err := idempotent.New("place-order", memory.New(0), config)
	if err != nil {
		t.Fatal(err)
	}
	handler := handlers.SQS(x, key, s.place, nil)
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: `{"orderId": "o-1", "quantity": 2}`},
		{MessageId: "m-2", Body: `{"orderId": "o-2", "quantity": 1}`},
		{MessageId: "m-3", Body: `{"orderId": "o-1", "quantity": 2}`}, // the producer sent o-1 twice
		{MessageId: "m-4", Body: `{"orderId": "o-3", "quantity": 0}`}, // fails for good
	}}
	for range 2 { // the queue delivers the batch twice
		response, err := handler(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		if failed := response.BatchItemFailures; len(failed) != 1 || failed[0].ItemIdentifier != "m-4" {
			t.Errorf("reported as failed: %v, want m-4", failed)
		}
	}
	if len(shipped) != 2 || shipped["o-1"] != 1 || shipped["o-2"] != 1 {
		t.Errorf("shipped %v, want o-1 and o-2 once each", shipped)
	}
}
