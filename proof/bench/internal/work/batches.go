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
	return batches(j, func(e *events.SQSEvent, id string, body []byte) {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: id, Body: string(body), EventSource: "aws:sqs", EventSourceARN: queueARN, Attributes: received,
		})
	}, func(ctx context.Context, e events.SQSEvent) (failed int, err error) {
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	})
}

// stream makes batches of j.Size records whose order counts.
func (w *Worker) stream(x *idempotent.Executor, j Job, h *handler) func(i int) error {
	key := func(r handlers.KinesisRecord[payment]) (idempotent.Key, error) { return paymentKey(r.Body) }
	handle := handlers.Kinesis(x, key, func(ctx context.Context, r handlers.KinesisRecord[payment]) error {
		_, err := h.run(ctx, r.Body)
		return err
	}, nil)
	return batches(j, func(e *events.KinesisEvent, id string, body []byte) {
		e.Records = append(e.Records, events.KinesisEventRecord{
			EventID: id, EventSource: "aws:kinesis", EventSourceArn: streamARN,
			Kinesis: events.KinesisRecord{Data: body, PartitionKey: "orders", SequenceNumber: id},
		})
	}, func(ctx context.Context, e events.KinesisEvent) (failed int, err error) {
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	})
}

// batches returns the function that delivers batch i of a job. All of them are made before.
func batches[Event any](
	j Job, add func(e *Event, id string, body []byte), deliver func(context.Context, Event) (failed int, err error),
) func(i int) error {
	all := make([]Event, j.Calls)
	for n := range j.Calls * j.Size {
		p := paymentOf(j, n)
		body, err := json.Marshal(p)
		if err != nil {
			panic(err) // of the type alone
		}
		add(&all[n/j.Size], p.ID, body)
	}
	return func(i int) error {
		failed, err := invoke(deliver, all[i])
		if err == nil && failed > 0 {
			return fmt.Errorf("%d records failed", failed)
		}
		return err
	}
}
