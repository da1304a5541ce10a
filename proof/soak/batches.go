package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

const queueBatch = 10

// deliverQueue sends one batch: messages that failed before and, with fresh, also
// duplicates and new ones. It returns the number of messages.
func (c *caller) deliverQueue(ctx context.Context, fresh bool) int {
	var batch []message
	duplicates := 0
	for len(batch) < queueBatch {
		m, again := c.queue.next()
		old, any := c.queued.any(c.random)
		switch {
		case again:
		case !fresh:
			return c.sendQueue(ctx, batch, duplicates)
		case any && c.random.IntN(100) < 20:
			m.request = old
			duplicates++
		default:
			m.request = c.request(job.Queue)
			c.queued.add(m.request)
		}
		if m.id == "" {
			c.sent++
			m.id = fmt.Sprintf("m-%s-%d", c.name, c.sent)
		}
		if !slices.ContainsFunc(batch, func(b message) bool { return b.id == m.id }) {
			batch = append(batch, m)
		}
	}
	return c.sendQueue(ctx, batch, duplicates)
}

func (c *caller) sendQueue(ctx context.Context, batch []message, duplicates int) int {
	if len(batch) == 0 {
		return 0
	}
	var event events.SQSEvent
	for _, m := range batch {
		body, err := json.Marshal(m.request)
		if err != nil {
			c.broken(err)
			return 0
		}
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: m.id, ReceiptHandle: "r-" + m.id, Body: string(body), EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:soak", AWSRegion: "us-east-1",
		})
	}
	text, err := json.Marshal(event)
	if err != nil {
		c.broken(err)
		return 0
	}
	r, answered := c.send(ctx, c.delivery(job.Queue, text), batch, duplicates)
	for _, m := range batch {
		declined := slices.ContainsFunc(r.Failures, func(f job.Failure) bool { return f.ID == m.id && f.Declined })
		if declined {
			continue // to the dead-letter queue
		}
		if !answered || r.Error != nil || slices.Contains(r.Failed, m.id) {
			c.queue.add(m, retryAfter)
		}
	}
	return len(batch)
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
	for size := 5 + c.random.IntN(batchLimit-5); len(s.log) < size; {
		s.append(c.request(job.Stream), fmt.Sprintf("p-%d", c.random.IntN(lanes)))
	}
	c.advance(ctx, s, c.random.IntN(4) == 0)
}

func (s *shard) append(r job.Request, partition string) {
	r.After, s.last[partition] = s.last[partition], r.Key
	s.seq++
	s.log = append(s.log, message{fmt.Sprintf("%s/%020d", partition, s.seq), r})
}

// advance sends what is not acknowledged, as Lambda does: from the record that was
// reported. At times it sends a finished batch again.
func (c *caller) advance(ctx context.Context, s *shard, again bool) {
	batch := s.log[:min(len(s.log), batchLimit)]
	event := events.KinesisEvent{}
	for _, m := range batch {
		partition, seq := m.id[:3], m.id[4:]
		body, err := json.Marshal(m.request)
		if err != nil {
			c.broken(err)
			return
		}
		event.Records = append(event.Records, events.KinesisEventRecord{
			EventID: s.name + ":" + seq, EventName: "aws:kinesis:record", EventSource: "aws:kinesis",
			EventSourceArn: "arn:aws:kinesis:us-east-1:123456789012:stream/soak", EventVersion: "1.0", AwsRegion: "us-east-1",
			Kinesis: events.KinesisRecord{
				Data: body, PartitionKey: partition, SequenceNumber: m.id,
				ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: time.Now()}, KinesisSchemaVersion: "1.0",
			},
		})
	}
	text, err := json.Marshal(event)
	if err != nil {
		c.broken(err)
		return
	}
	duplicates := 0
	if s.again {
		duplicates = len(batch)
	}
	r, answered := c.send(ctx, c.delivery(job.Stream, text), batch, duplicates)
	switch {
	case !answered || r.Error != nil:
		s.again = false
		wait(ctx, time.Duration(c.random.IntN(int(retryAfter))))
	case len(r.Failed) > 0:
		s.again = false
		from := slices.IndexFunc(batch, func(m message) bool { return m.id == r.Failed[0] })
		s.log = s.log[max(from, 0):]
	case again && !s.again:
		s.again = true
	default:
		s.again = false
		s.log = s.log[len(batch):]
	}
}
