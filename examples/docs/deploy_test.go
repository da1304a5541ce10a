package docs_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/deploy.md.

type queueHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

func fromPipe(handle queueHandler) func(context.Context, []events.SQSMessage) (events.SQSEventResponse, error) {
	return func(ctx context.Context, messages []events.SQSMessage) (events.SQSEventResponse, error) {
		return handle(ctx, events.SQSEvent{Records: messages})
	}
}

type PayTask struct {
	ID    string `json:"id"`
	Input Order  `json:"input"`
}

func taskID(t PayTask) (idempotent.Key, error) {
	return idempotent.Key{ID: t.ID, Payload: t.Input}, nil
}

// A pipe sends a list, also of one message, and takes the same report as a queue.
func TestPipeReportsTheMessagesThatFailed(t *testing.T) {
	input := `[
		{"messageId": "m-1", "body": "{\"orderId\":\"o-1\"}", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:111122223333:orders"},
		{"messageId": "m-2", "body": "{", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:111122223333:orders"}
	]`
	handler := lambda.NewHandler(fromPipe(handlers.SQS(executor(t, "place-order", nil), orderID, placeOrder, &handlers.SQSOptions{
		OnFailure: func(context.Context, *handlers.RecordError) {},
	})))
	answer, err := handler.Invoke(t.Context(), []byte(input))
	check.Nil(t, err)
	check.Equal(t, string(answer), `{"batchItemFailures":[{"itemIdentifier":"m-2"}]}`)
}

// The payload of the page has the execution, the state and the pass in its id.
func TestTaskHasItsKeyInTheID(t *testing.T) {
	var task PayTask
	check.Must(t, json.Unmarshal([]byte(`{"id": "arn:aws:states:…/Pay/2", "input": {"orderId": "o-1", "quantity": 1}}`), &task))
	key, err := taskID(task)
	check.Must(t, err)
	check.Equal(t, key.ID, "arn:aws:states:…/Pay/2")
	check.Equal(t, task.Input.OrderID, "o-1")
}
