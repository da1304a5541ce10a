package sqslocal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

// feed feeds a function from a queue for an hour of the bubble.
func feed(t *testing.T, q *sqslocal.FIFO, fn lambda.Handler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	m := sqslocal.Mapping{
		Client: q, QueueURL: "local", QueueARN: q.ARN(), MaximumConcurrency: 1, ReportBatchItemFailures: true,
		Invoke: func(ctx context.Context, payload []byte) (r lambdaruntime.Response, err error) {
			r.Payload, err = fn.Invoke(ctx, payload)
			return r, err
		},
	}
	check.Nil(t, m.Run(ctx))
}

// The first of ten parcels has no address. The queue moves a message after five
// receives, as AddQueue of package infra does by default.
func TestParcelWithoutAddressInAFIFOQueue(t *testing.T) {
	for name, test := range map[string]struct {
		groups, ran, dead int
		poison            bool
	}{
		"ten groups":        {groups: 10, ran: 9, dead: 1},
		"one group":         {groups: 1, ran: 0, dead: 10},
		"one group, Poison": {groups: 1, ran: 9, poison: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := sqslocal.NewFIFO(t, &sqslocal.QueueOptions{MaxReceiveCount: 5})
				var want []string
				for i := range 10 {
					p := parcel{ID: fmt.Sprint("p-", i), To: "Ada"}
					if i == 0 {
						p.To = ""
					} else if test.ran > 0 {
						want = append(want, p.ID)
					}
					q.Send(fmt.Sprint(i%test.groups), fmt.Sprintf(`{"id":%q,"to":%q}`, p.ID, p.To))
				}
				x, err := idempotent.New("ship-parcel", memory.New(0), &idempotent.Config{Retention: 42 * 24 * time.Hour})
				check.Must(t, err)
				var o handlers.SQSOptions
				taken := 0
				if test.poison {
					o.Poison = func(context.Context, events.SQSMessage, error) error { taken++; return nil }
				}
				var ran []string
				feed(t, q, lambda.NewHandler(handlers.SQS(x, parcelKey, func(_ context.Context, m handlers.SQSMessage[parcel]) error {
					if m.Body.To == "" {
						return idempotent.Permanent(errors.New("a parcel needs an address"))
					}
					ran = append(ran, m.Body.ID)
					return nil
				}, &o)))
				check.Slice(t, ran, want, "ran")
				check.Equal(t, len(q.DeadLetters()), test.dead, "dead letters")
				check.Equal(t, taken == 1, test.poison, "Poison is called", taken, "times")
			})
		})
	}
}

// A group with an invisible message waits. Its order is that of the sends.
func TestFIFOKeepsTheOrderOfEachGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sqslocal.NewFIFO(t, &sqslocal.QueueOptions{MaxReceiveCount: 2, VisibilityTimeout: time.Minute})
		for _, body := range []string{"a1", "b1", "a2", "b2", "a3"} {
			q.Send(body[:1], body)
		}
		handles := map[string]*string{}
		receives := func(most int32, want ...string) {
			t.Helper()
			out, err := q.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{MaxNumberOfMessages: most})
			check.Must(t, err)
			var got []string
			for _, m := range out.Messages {
				got = append(got, *m.Body+" "+m.Attributes["ApproximateReceiveCount"])
				handles[*m.Body] = m.ReceiptHandle
			}
			check.Slice(t, got, want, "received")
		}
		deletes := func(handle *string, failed int) {
			t.Helper()
			out, err := q.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("0"), ReceiptHandle: handle}}})
			check.Must(t, err)
			check.Equal(t, len(out.Failed), failed, "deletes failed")
		}
		receives(2, "a1 1", "b1 1")
		receives(10)
		old := handles["b1"]
		deletes(handles["a1"], 0)
		receives(10, "a2 1", "a3 1")
		time.Sleep(time.Minute)
		receives(10, "b1 2", "a2 2", "b2 1", "a3 2")
		deletes(old, 1)
		time.Sleep(time.Minute)
		receives(10, "b2 2")
		check.Equal(t, len(q.DeadLetters()), 3, "dead letters, want b1, a2 and a3")
	})
}

func TestServerQueueCountsReceives(t *testing.T) {
	client, q := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 3, VisibilityTimeout: time.Second})
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("m")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2"} {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &q.URL, WaitTimeSeconds: 20, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"ApproximateReceiveCount"},
		})
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("received %+v, %v", out, err)
		}
		check.Equal(t, out.Messages[0].Attributes["ApproximateReceiveCount"], want, "receive")
	}
}
