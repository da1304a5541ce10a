package sqslocal

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/internal/serving"
)

// TB is the part of testing.TB that this package uses.
type TB = serving.TB

// NewQueue returns a new queue on a server of its own, and its client. The server stops
// when the test ends. If options is nil, all defaults apply.
//
// NewQueue takes half a second. The first call also fetches and compiles the server.
func NewQueue(t TB, o *QueueOptions) (client *sqs.Client, q Queue) {
	t.Helper()
	server := serving.ForTest(t, Start)
	q, err := server.CreateQueue(context.Background(), serving.TestName(t, 70), o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return server.Client(), q
}
