package soak

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/proof/soak/worker"
)

func queueEvent(batch []message) (e events.SQSEvent) {
	for _, m := range batch {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: m.id, ReceiptHandle: "r-" + m.id, Body: string(encode(m.request)), EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:soak", AWSRegion: "us-east-1",
		})
	}
	return e
}

// shard is a shard of a stream, from which one batch is delivered at a time.
type shard struct {
	*caller
	log  []message // of those not yet acknowledged
	seq  int
	last map[string]string // the key of the latest record, by partition key
	// again: the batch is delivered once more although it was acknowledged.
	again bool
}

const (
	shards     = 4
	lanes      = 3
	batchLimit = 20
)

func (s *shard) run(ctx context.Context) {
	for ctx.Err() == nil {
		for size := 5 + s.random.IntN(batchLimit-5); len(s.log) < size; s.seq++ {
			r, partition := s.request(worker.Stream), fmt.Sprintf("p-%d", s.random.IntN(lanes))
			r.After, s.last[partition] = s.last[partition], r.Key
			s.log = append(s.log, message{fmt.Sprintf("%s/%020d", partition, s.seq), r})
		}
		s.advance(ctx, s.random.IntN(4) == 0)
	}
}

func (s *shard) drain(ctx context.Context) {
	for ctx.Err() == nil && len(s.log) > 0 {
		s.advance(ctx, false)
	}
}

// advance sends what is not acknowledged, as Lambda does: from the record that was
// reported. At times it sends a finished batch again.
func (s *shard) advance(ctx context.Context, again bool) {
	batch := s.log[:min(len(s.log), batchLimit)]
	var event events.KinesisEvent
	for _, m := range batch {
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventID: "shardId-" + s.name + ":" + m.id[4:], EventName: "aws:kinesis:record", EventSource: "aws:kinesis",
			EventSourceArn: "arn:aws:kinesis:us-east-1:123456789012:stream/soak", EventVersion: "1.0", AwsRegion: "us-east-1",
			Kinesis: events.KinesisRecord{
				Data: encode(m.request), PartitionKey: m.id[:3], SequenceNumber: m.id,
				ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: time.Now()}, KinesisSchemaVersion: "1.0",
			},
		})
	}
	duplicates := 0
	if s.again {
		duplicates = len(batch)
	}
	again, s.again = again && !s.again, false
	r := s.send(ctx, event, batch, duplicates, nil)()
	switch {
	case r == nil || r.Error != nil:
		wait(ctx, time.Duration(s.random.IntN(int(retryAfter))))
	case len(r.Failed) > 0:
		from := slices.IndexFunc(batch, func(m message) bool { return m.id == r.Failed[0] })
		s.log = s.log[max(from, 0):]
	case again:
		s.again = true
	default:
		s.log = s.log[len(batch):]
	}
}
