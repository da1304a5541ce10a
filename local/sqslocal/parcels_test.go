package sqslocal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

type parcel struct {
	ID string `json:"id"`
	To string `json:"to"`
}

func parcelKey(m handlers.SQSMessage[parcel]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID, Payload: m.Body}, nil
}

// receive waits until the queue delivers a message.
func receive(t *testing.T, client *sqs.Client, url string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 2})
		check.Must(t, err)
		if len(out.Messages) > 0 {
			return *out.Messages[0].Body
		}
	}
	t.Fatalf("nothing comes from %s", url)
	return ""
}

func TestParcelWithoutAddressRunsOnceAndReachesTheDeadLetterQueue(t *testing.T) {
	client, queue := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 2, VisibilityTimeout: time.Second})
	x, err := idempotent.New("ship-parcel", memory.New(0), &idempotent.Config{Retention: 28 * 24 * time.Hour})
	check.Must(t, err)
	runs := map[string]int{}
	handler := lambda.NewHandler(handlers.SQS(x, parcelKey, func(_ context.Context, m handlers.SQSMessage[parcel]) error {
		runs[m.Body.ID]++
		if m.Body.To == "" {
			return idempotent.Permanent(errors.New("a parcel needs an address"))
		}
		return nil
	}, nil))
	for _, body := range []string{`{"id": "p-1", "to": "Ada"}`, `{"id": "p-1", "to": "Ada"}`, `{"id": "p-2"}`} {
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &queue.URL, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	mapping := sqslocal.Mapping{
		Client: client, QueueURL: queue.URL, QueueARN: queue.ARN,
		MaximumConcurrency: 1, ReportBatchItemFailures: true,
		Invoke: func(ctx context.Context, payload []byte) (r lambdaruntime.Response, err error) {
			r.Payload, err = handler.Invoke(ctx, payload)
			return r, err
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- mapping.Run(ctx) }()
	dead := receive(t, client, queue.DeadLetterURL)
	stop()
	check.Nil(t, <-ended)

	check.Equal(t, dead, `{"id": "p-2"}`, "the dead-letter queue")
	check.Equal(t, runs["p-1"], 1, "p-1, which was sent twice, ran")
	check.Equal(t, runs["p-2"], 1, "p-2, which was received twice, ran")
}
