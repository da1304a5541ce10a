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
func (s Series) queue(ctx context.Context, c *connections, j Job, h *handler) (func(i int) error, error) {
	x, err := s.executor(ctx, c, j)
	if err != nil {
		return nil, err
	}
	key := func(m handlers.SQSMessage[payment]) (idempotent.Key, error) { return paymentKey(m.Body) }
	handle := handlers.SQS(x, key, func(ctx context.Context, m handlers.SQSMessage[payment]) error {
		_, err := h.run(ctx, m.Body)
		return err
	}, &s.Queue)
	batches, err := bodies(j)
	if err != nil {
		return nil, err
	}
	received := map[string]string{"ApproximateReceiveCount": "1"}
	if j.Kind == Requeue {
		received["ApproximateReceiveCount"] = "2"
	}
	return func(i int) error {
		ctx, cancel := invocation(ctx)
		defer cancel()
		var e events.SQSEvent
		for m, body := range batches[i] {
			id := fmt.Sprintf("%s-%d-%d", j.Keys, i, m)
			e.Records = append(e.Records, events.SQSMessage{MessageId: id, Body: string(body), EventSource: "aws:sqs", EventSourceARN: queueARN, Attributes: received})
		}
		report, err := handle(ctx, e)
		if n := len(report.BatchItemFailures); err == nil && n > 0 {
			return fmt.Errorf("%d messages failed", n)
		}
		return err
	}, nil
}

// stream makes batches of j.Size records, whose order counts.
func (s Series) stream(ctx context.Context, c *connections, j Job, h *handler) (func(i int) error, error) {
	x, err := s.executor(ctx, c, j)
	if err != nil {
		return nil, err
	}
	key := func(r handlers.KinesisRecord[payment]) (idempotent.Key, error) { return paymentKey(r.Body) }
	handle := handlers.Kinesis(x, key, func(ctx context.Context, r handlers.KinesisRecord[payment]) error {
		_, err := h.run(ctx, r.Body)
		return err
	}, &s.Records)
	batches, err := bodies(j)
	if err != nil {
		return nil, err
	}
	return func(i int) error {
		ctx, cancel := invocation(ctx)
		defer cancel()
		var e events.KinesisEvent
		for m, body := range batches[i] {
			id := fmt.Sprintf("%s-%d-%d", j.Keys, i, m)
			e.Records = append(e.Records, events.KinesisEventRecord{
				EventID: id, EventSource: "aws:kinesis", EventSourceArn: streamARN,
				Kinesis: events.KinesisRecord{Data: body, PartitionKey: "orders", SequenceNumber: id},
			})
		}
		report, err := handle(ctx, e)
		if n := len(report.BatchItemFailures); err == nil && n > 0 {
			return fmt.Errorf("%d records failed", n)
		}
		return err
	}, nil
}

// bodies returns the messages of all batches of a job.
func bodies(j Job) ([][][]byte, error) {
	batches := make([][][]byte, j.Calls)
	for i := range batches {
		for m := range j.Size {
			body, err := json.Marshal(paymentOf(j, i*j.Size+m))
			if err != nil {
				return nil, err
			}
			batches[i] = append(batches[i], body)
		}
	}
	return batches, nil
}
