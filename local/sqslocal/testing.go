package sqslocal

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TB is the part of testing.TB that is used here, so that programs which
// import this package do not link testing.
type TB interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
	Helper()
	Name() string
}

// NewQueue gives a test a fresh queue on a server of its own, and a client for
// it. The server goes when the test ends. nil options are the defaults.
//
// It takes half a second, and the very first time as long as fetching and
// compiling the server takes.
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

// queueName is what SQS allows of a test's name.
func queueName(test string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, test)
	return clean[:min(len(clean), 70)]
}
