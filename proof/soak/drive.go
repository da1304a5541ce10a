package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

const (
	// driveTimeout is far longer than any lease.
	driveTimeout = 2 * time.Minute
	// replays is how many finished keys are called again, besides those that met
	// with anything unusual.
	replays = 2000
)

// drive calls every unfinished key until somebody was told how it ended. Then it
// calls finished ones once more. If it runs out of time, the audit finds the keys.
func (s *stage) drive(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, driveTimeout)
	defer cancel()
	var tasks sync.WaitGroup
	calls, queue, stream := s.caller("calls"), s.caller("queue"), s.caller("stream")
	tasks.Go(func() {
		for first := true; ctx.Err() == nil; first = false {
			s.retries.clear() // the ledger knows them
			unfinished := s.ledger.selects(func(e *entry) bool { return single(e.Request) && len(e.digests) == 0 && e.declines == 0 })
			if len(unfinished) == 0 {
				return
			}
			if first {
				calls.driven += len(unfinished)
			}
			s.again(ctx, calls, unfinished)
		}
	})
	tasks.Go(func() {
		for ctx.Err() == nil && s.queue.size() > 0 {
			queue.driven += queue.deliverQueue(ctx, false)
			wait(ctx, 10*time.Millisecond)
		}
	})
	tasks.Go(func() {
		for _, shard := range s.shards {
			stream.driven += len(shard.log)
			for ctx.Err() == nil && len(shard.log) > 0 {
				stream.advance(ctx, shard, false)
			}
		}
	})
	tasks.Wait()
	s.driven = calls.driven + queue.driven + stream.driven
	n := 0
	finished := s.ledger.selects(func(e *entry) bool {
		n++
		return single(e.Request) && (e.clouded || n%(1+len(s.ledger.entries)/replays) == 0)
	})
	s.replayed = len(finished)
	s.again(ctx, calls, finished)
	s.waiting.Wait()
	return errors.Join(s.failure(), parent.Err())
}

// again calls with each of the requests, several at a time.
func (s *stage) again(ctx context.Context, of *caller, requests []job.Request) {
	work := make(chan job.Request)
	var tasks sync.WaitGroup
	for n := range callers {
		of.sent++
		c := &caller{traffic: s.traffic, name: fmt.Sprintf("%s-%d-%d", of.name, of.sent, n), random: of.source()}
		tasks.Go(func() {
			for r := range work {
				c.insist(ctx, r, 0)
			}
		})
	}
	for _, r := range requests {
		work <- r
	}
	close(work)
	tasks.Wait()
}

func (s *stage) caller(name string) *caller {
	return &caller{traffic: s.traffic, name: name, random: s.source()}
}

func single(r job.Request) bool { return r.Kind != job.Queue && r.Kind != job.Stream }
