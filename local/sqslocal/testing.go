package sqslocal

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TB is the part of testing.TB that this package uses, so that programs which import it
// do not link testing.
type TB interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
	Helper()
	Name() string
}

// NewQueue returns a new queue on a server of its own, and its client. The server stops
// when the test ends. If options is nil, all defaults apply.
//
// NewQueue takes half a second. The first call also fetches and compiles the server.
func NewQueue(t TB, o *QueueOptions) (client *sqs.Client, q Queue) {
	t.Helper()
	ctx := context.Background()
	server, err := Start(ctx, nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Fatalf("sqslocal: stop: %v", err)
		}
	})
	if q, err = server.CreateQueue(ctx, queueName(t.Name()), o); err != nil {
		t.Fatalf("%v", err)
	}
	return server.Client(), q
}

// queueName returns a test's name without the characters that SQS refuses.
func queueName(test string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, test)
	return clean[:min(len(clean), 70)]
}
