package soak

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	name string

	mu   sync.Mutex
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

func newShards() (list []*shard) {
	for n := range shards {
		list = append(list, &shard{name: fmt.Sprintf("shardId-%012d", n), last: map[string]string{}})
	}
	return list
}

// deliverStream sends the next batch of a shard that no other caller delivers.
func (c *caller) deliverStream(ctx context.Context) {
	s := c.shards[c.random.IntN(len(c.shards))]
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	for size := 5 + c.random.IntN(batchLimit-5); len(s.log) < size; s.seq++ {
		r, partition := c.request(worker.Stream), fmt.Sprintf("p-%d", c.random.IntN(lanes))
		r.After, s.last[partition] = s.last[partition], r.Key
		s.log = append(s.log, message{fmt.Sprintf("%s/%020d", partition, s.seq), r})
	}
	c.advance(ctx, s, c.random.IntN(4) == 0)
}

// advance sends what is not acknowledged, as Lambda does: from the record that was
// reported. At times it sends a finished batch again.
func (c *caller) advance(ctx context.Context, s *shard, again bool) {
	batch := s.log[:min(len(s.log), batchLimit)]
	var event events.KinesisEvent
	for _, m := range batch {
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventID: s.name + ":" + m.id[4:], EventName: "aws:kinesis:record", EventSource: "aws:kinesis",
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
	r := c.send(ctx, worker.Stream, event, batch, duplicates, nil)()
	switch {
	case r == nil || r.Error != nil:
		wait(ctx, time.Duration(c.random.IntN(int(retryAfter))))
	case len(r.Failed) > 0:
		from := slices.IndexFunc(batch, func(m message) bool { return m.id == r.Failed[0] })
		s.log = s.log[max(from, 0):]
	case again:
		s.again = true
	default:
		s.log = s.log[len(batch):]
	}
}
