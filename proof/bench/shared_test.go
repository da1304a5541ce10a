package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// accepting is a DynamoDB whose table has no record: it executes every statement.
type accepting struct {
	*dynamodb.Client
	requests int
}

func (a *accepting) BatchExecuteStatement(_ context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	a.requests++
	time.Sleep(10 * time.Millisecond)
	return &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(in.Statements))}, nil
}

// A target of "make bench" is the same with a server, on a machine that may be busy.
func TestBatchOfNewMessagesSharesTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &accepting{Client: dynamodb.New(dynamodb.Options{})}
		store, err := dynamo.New(client, "idempotency", &dynamo.Options{Group: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, err := idempotent.New("place-order", store, nil)
		if err != nil {
			t.Fatal(err)
		}
		handle := handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[json.RawMessage]) error { return nil }, &handlers.SQSOptions{Unrecorded: 10})
		var e events.SQSEvent
		for i := range 10 {
			e.Records = append(e.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: "1", EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:orders"})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		report, err := handle(ctx, e)
		if err != nil || len(report.BatchItemFailures) > 0 || client.requests != 2 {
			t.Errorf("%d requests, %+v, %v; want the claims in one, and the completions in another", client.requests, report, err)
		}
	})
}
