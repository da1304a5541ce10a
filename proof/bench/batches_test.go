package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

const (
	queueARN  = "arn:aws:sqs:us-east-1:123456789012:orders"
	streamARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
)

// batchName is the name of a benchmark of batches.
func batchName(source string, size int, delivery string, latency time.Duration, series string) string {
	return fmt.Sprintf("Batches/source=%s/size=%d/delivery=%s/latency=%s/series=%s", source, size, delivery, latency, series)
}

// BenchmarkBatches delivers batches of SQS messages, and of records of one partition key,
// which run in order. An operation is a batch.
func BenchmarkBatches(b *testing.B) {
	for _, latency := range latencies {
		if testing.Short() && latency > latencies[1] {
			break
		}
		for _, delivery := range []string{"new", "again"} {
			for _, size := range []int{1, 10, 25} {
				for _, s := range onBatches {
					if s.delivers(size, delivery, latency) {
						runBatches(b, s, "sqs", size, delivery, latency, s.sqs, addMessage)
					}
				}
			}
			for _, s := range onBatches {
				if s.delivers(100, delivery, latency) {
					runBatches(b, s, "kinesis", 100, delivery, latency, s.kinesis, addRecord)
				}
			}
		}
	}
}

// delivers reports whether batches of a series are measured.
func (s *series) delivers(size int, delivery string, latency time.Duration) bool {
	switch {
	case size == 1:
		return latency == 0 && !s.oneCPU && s.group == 0
	case s.uneven:
		return size == 10 && delivery == "new"
	}
	return size == 10 || s.name != "in-turn-one"
}

// runBatches runs the benchmark of one series. All events are made before it is measured.
func runBatches[Event any](
	b *testing.B, s *series, source string, size int, delivery string, latency time.Duration,
	protect func(*idempotent.Executor, *work) func(context.Context, Event) (failed int, err error),
	add func(e *Event, id string, body []byte, again bool),
) {
	w := &work{uneven: s.uneven}
	store, err := s.store(latency)
	must(b, err)
	x, err := idempotent.New("create-payment", store, &idempotent.Config{Ahead: s.ahead})
	must(b, err)
	deliver := protect(x, w)
	b.Run(batchName(source, size, delivery, latency, s.name)[len("Batches/"):], func(b *testing.B) {
		defer s.limited()()
		batches := func(keys string, n int, again bool) func(i int) error {
			all := make([]Event, n)
			for i := range n * size {
				p := paymentOf(keys, i)
				body, err := json.Marshal(p)
				must(b, err)
				add(&all[i/size], p.ID, body, again)
			}
			return func(i int) error {
				failed, err := invoke(deliver, all[i%n])
				if err == nil && failed > 0 {
					return fmt.Errorf("%d records failed", failed)
				}
				return err
			}
		}
		must(b, batches(rand.Text(), 1, false)(0)) // opens connections
		keys, want := rand.Text(), expected{size, 2 * size}
		do := batches(keys, b.N, false)
		if delivery == "again" {
			n := min(b.N, 8)
			must(b, parallel(1, n, batches(keys, n, false)))
			do, want = batches(keys, n, true), expected{0, size}
		}
		if s.group > 0 {
			want.requests = -1
		}
		s.measure(b, 1, w, want, do)
	})
}

func (s *series) sqs(x *idempotent.Executor, w *work) func(context.Context, events.SQSEvent) (failed int, err error) {
	key := func(m handlers.SQSMessage[payment]) (idempotent.Key, error) { return paymentKey(m.Body) }
	handle := handlers.SQS(x, key, func(ctx context.Context, m handlers.SQSMessage[payment]) error {
		_, err := w.run(ctx, m.Body)
		return err
	}, &s.queue)
	return func(ctx context.Context, e events.SQSEvent) (failed int, err error) {
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	}
}

func addMessage(e *events.SQSEvent, id string, body []byte, again bool) {
	received := "1"
	if again {
		received = "2"
	}
	e.Records = append(e.Records, events.SQSMessage{
		MessageId: id, Body: string(body), EventSource: "aws:sqs", EventSourceARN: queueARN,
		Attributes: map[string]string{"ApproximateReceiveCount": received},
	})
}

func (s *series) kinesis(x *idempotent.Executor, w *work) func(context.Context, events.KinesisEvent) (failed int, err error) {
	key := func(r handlers.KinesisRecord[payment]) (idempotent.Key, error) { return paymentKey(r.Body) }
	handle := handlers.Kinesis(x, key, func(ctx context.Context, r handlers.KinesisRecord[payment]) error {
		_, err := w.run(ctx, r.Body)
		return err
	}, nil)
	return func(ctx context.Context, e events.KinesisEvent) (failed int, err error) {
		report, err := handle(ctx, e)
		return len(report.BatchItemFailures), err
	}
}

func addRecord(e *events.KinesisEvent, id string, body []byte, _ bool) {
	e.Records = append(e.Records, events.KinesisEventRecord{
		EventID: id, EventSource: "aws:kinesis", EventSourceArn: streamARN,
		Kinesis: events.KinesisRecord{Data: body, PartitionKey: "orders", SequenceNumber: id},
	})
}
