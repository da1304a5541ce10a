package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

const (
	queueARN  = "arn:aws:sqs:us-east-1:123456789012:orders"
	streamARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
)

// queue makes batches of j.Size messages.
func (w *Worker) queue(x *idempotent.Executor, j Job, h *handler) func(i int) error {
	key := func(m handlers.SQSMessage[payment]) (idempotent.Key, error) { return paymentKey(m.Body) }
	handle := handlers.SQS(x, key, func(ctx context.Context, m handlers.SQSMessage[payment]) error {
		_, err := h.run(ctx, m.Body)
		return err
	}, &w.Queue)
	received := map[string]string{"ApproximateReceiveCount": "1"}
	if j.Kind == Requeue {
		received["ApproximateReceiveCount"] = "2"
	}
	batches := make([]events.SQSEvent, j.Calls)
	for n := range j.Calls * j.Size {
		id, body := message(j, n)
		e := &batches[n/j.Size]
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: id, Body: string(body), EventSource: "aws:sqs", EventSourceARN: queueARN, Attributes: received,
		})
	}
	return func(i int) error {
		report, err := invoke(handle, batches[i])
		return complete(len(report.BatchItemFailures), err)
	}
}

// stream makes batches of j.Size records whose order counts.
func (w *Worker) stream(x *idempotent.Executor, j Job, h *handler) func(i int) error {
	key := func(r handlers.KinesisRecord[payment]) (idempotent.Key, error) { return paymentKey(r.Body) }
	handle := handlers.Kinesis(x, key, func(ctx context.Context, r handlers.KinesisRecord[payment]) error {
		_, err := h.run(ctx, r.Body)
		return err
	}, &w.Records)
	batches := make([]events.KinesisEvent, j.Calls)
	for n := range j.Calls * j.Size {
		id, body := message(j, n)
		e := &batches[n/j.Size]
		e.Records = append(e.Records, events.KinesisEventRecord{
			EventID: id, EventSource: "aws:kinesis", EventSourceArn: streamARN,
			Kinesis: events.KinesisRecord{Data: body, PartitionKey: "orders", SequenceNumber: id},
		})
	}
	return func(i int) error {
		report, err := invoke(handle, batches[i])
		return complete(len(report.BatchItemFailures), err)
	}
}

// message returns message n of all batches of a job.
func message(j Job, n int) (id string, body []byte) {
	p := paymentOf(j, n)
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // of the type alone
	}
	return p.ID, body
}

// complete returns an error unless all records of a batch succeeded.
func complete(failed int, err error) error {
	if err == nil && failed > 0 {
		return fmt.Errorf("%d records failed", failed)
	}
	return err
}
