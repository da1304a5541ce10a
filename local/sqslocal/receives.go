package sqslocal

import (
	"context"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// countReceives returns a setting of a client that counts its receives of each message
// in ApproximateReceiveCount, which the server always says is 1.
func countReceives() func(*middleware.Stack) error {
	var mu sync.Mutex
	counts := map[[2]string]int{} // by queue and message
	count := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if received, ok := out.Result.(*sqs.ReceiveMessageOutput); ok {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range received.Messages {
				k := [2]string{aws.ToString(in.Parameters.(*sqs.ReceiveMessageInput).QueueUrl), aws.ToString(m.MessageId)}
				counts[k]++
				if m.Attributes != nil { // it was asked for
					m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(counts[k])
				}
			}
		}
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CountReceives", count), middleware.After)
	}
}
