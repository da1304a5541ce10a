package durablefunc_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
)

// A starter stands for the client of a durable function.
type starter map[string]bool

func (s starter) StartExecution(_ context.Context, name string, _ []byte) error {
	s[name] = true
	return nil
}

// A queue delivers a message twice, and one execution starts.
func ExampleDispatch() {
	type order struct {
		ID string `json:"id"`
	}
	key := idempotent.Field(func(m handlers.SQSMessage[order]) string { return m.Body.ID })
	executions := starter{}
	start := durablefunc.StartExecution[handlers.SQSMessage[order]](executions, nil)
	dispatch := durablefunc.Dispatch("pay", handlers.SQS, key, start, nil)

	for range 2 {
		event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: `{"id": "o-1"}`}}}
		response, err := dispatch(context.Background(), event)
		fmt.Println(len(response.BatchItemFailures), err, len(executions))
	}
	// Output:
	// 0 <nil> 1
	// 0 <nil> 1
}
