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

// deliver hands one batch to a handler. It returns the number of records that failed.
type deliver func(ctx context.Context, id string, bodies [][]byte) (failed int, err error)

// batches makes batches of j.Size records.
func (s Series) batches(ctx context.Context, c *connections, j Job, h *handler) (func(i int) error, error) {
	x, err := s.executor(ctx, c, j)
	if err != nil {
		return nil, err
	}
	batches, err := bodies(j)
	if err != nil {
		return nil, err
	}
	send := s.stream(x, h)
	if j.Kind == Queue || j.Kind == Requeue {
		send = s.queue(x, h, j.Kind == Requeue)
	}
	return func(i int) error {
		ctx, cancel := invocation(ctx)
		defer cancel()
		failed, err := send(ctx, fmt.Sprintf("%s-%d", j.Keys, i), batches[i])
		if err == nil && failed > 0 {
			return fmt.Errorf("%d records failed", failed)
		}
		return err
	}, nil
}

func (s Series) queue(x *idempotent.Executor, h *handler, again bool) deliver {
	key := func(m handlers.SQSMessage[payment]) (idempotent.Key, error) { return paymentKey(m.Body) }
	handle := handlers.SQS(x, key, func(ctx context.Context, m handlers.SQSMessage[payment]) error {
		_, err := h.run(ctx, m.Body)
		return err
	}, &s.Queue)
	received := map[string]string{"ApproximateReceiveCount": "1"}
	if again {
		received["ApproximateReceiveCount"] = "2"
	}
	return func(ctx context.Context, id string, bodies [][]byte) (int, error) {
		var e events.SQSEvent
		for m, body := range bodies {
			e.Records = append(e.Records, events.SQSMessage{
				MessageId: fmt.Sprintf("%s-%d", id, m), Body: string(body), EventSource: "aws:sqs",
				EventSourceARN: queueARN, Attributes: received,
			})
		}
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	}
}

// stream hands over records whose order counts.
func (s Series) stream(x *idempotent.Executor, h *handler) deliver {
	key := func(r handlers.KinesisRecord[payment]) (idempotent.Key, error) { return paymentKey(r.Body) }
	handle := handlers.Kinesis(x, key, func(ctx context.Context, r handlers.KinesisRecord[payment]) error {
		_, err := h.run(ctx, r.Body)
		return err
	}, &s.Records)
	return func(ctx context.Context, id string, bodies [][]byte) (int, error) {
		var e events.KinesisEvent
		for m, body := range bodies {
			id := fmt.Sprintf("%s-%d", id, m)
			e.Records = append(e.Records, events.KinesisEventRecord{
				EventID: id, EventSource: "aws:kinesis", EventSourceArn: streamARN,
				Kinesis: events.KinesisRecord{Data: body, PartitionKey: "orders", SequenceNumber: id},
			})
		}
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	}
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
