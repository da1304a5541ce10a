// Package e2e tests the main guarantee from end to end. Messages go through a queue to
// a compiled function in several environments while processes are killed. No order is
// lost, and none is placed twice without a kill that explains it.
package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/sqslocal"
)

const (
	good, poison = 1000, 10
	// killing is the duration of the kills. A message returns after takenOver, so
	// kills cannot cause a sixth receive.
	killing = 5 * takenOver
	// maxReceives leaves more for conflicts, and for invocations that a busy machine
	// does not end in time. Poison takes as many times takenOver, which determines
	// the duration of the test.
	maxReceives = 10
)

// Every order is sent twice while a process is killed every second. Only an effect
// that a killed process did not record is repeated, as docs/guarantees.md says.
func TestNoOrderIsLostOrRepeatedWithoutAKill(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed=%d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	f := deploy(t, "ORDERS_DELAY=200ms", "AWS_LAMBDA_LOG_LEVEL=DEBUG")
	q := newQueue(t)
	q.send(t, shuffled(random))

	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	kills := 0
	tasks.Go(func() { kills = kill(ctx, t, f, random) })
	batches := 0
	tasks.Go(func() {
		mapping := sqslocal.Mapping{
			Client: q.client, QueueURL: q.URL, QueueARN: q.ARN, Invoke: f.Invoke,
			// Larger than unrecorded, which bounds what a kill may repeat.
			BatchSize: 25, Window: time.Second,
			MaximumConcurrency: environments, ReportBatchItemFailures: true,
			Observe: func(b sqslocal.Batch) {
				batches++
				if malformed, ok := errors.AsType[*sqslocal.AnswerError](b.Err); ok {
					t.Error(malformed)
				}
			},
		}
		checkEnd(t, mapping.Run(ctx))
	})
	q.await(t, 15*time.Minute)
	stop()
	tasks.Wait()

	check.Equal(t, q.left(t, q.URL), 0, "messages are left")
	repeated := checkExecutions(t, f)
	checkDead(t, q.dead(t))
	checkRecords(t, f)
	t.Logf("%d kills, %d of them in an invocation; %d second executions; %d batches; %v",
		kills, len(f.killed), repeated, batches, time.Since(began).Round(time.Second))
	t.Logf("calls: %v", f.outcomes.all())
}

func newQueue(t *testing.T) queue {
	t.Helper()
	// A message returns when the lease of its dead owner has lapsed.
	client, q := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: maxReceives, VisibilityTimeout: takenOver})
	return queue{Queue: q, client: client}
}

// shuffled returns every order twice, with poison first, which takes longest.
func shuffled(random *rand.Rand) []order {
	mix := func(list []order) []order {
		list = append(list, list...)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	return append(mix(orders(good, good+poison, 0)), mix(orders(0, good, 1))...)
}

// kill kills a random environment about every second, and returns how often. The time
// varies, because the queue server returns messages once a second: with a fixed time,
// every kill could hit the same batch.
func kill(ctx context.Context, t *testing.T, f *function, random *rand.Rand) (kills int) {
	ctx, cancel := context.WithTimeout(ctx, killing)
	defer cancel()
	for {
		pause := time.NewTimer(time.Second/2 + time.Duration(random.Int64N(int64(time.Second))))
		select {
		case <-ctx.Done():
			pause.Stop()
			return kills
		case <-pause.C:
		}
		check.Nil(t, f.Environment(random.IntN(environments)).Kill())
		kills++
	}
}

// checkEnd accepts an invalid receipt handle: the machine was too slow for the
// visibility timeout, and the message is delivered again.
func checkEnd(t *testing.T, err error) {
	t.Helper()
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	} else if err == nil {
		return
	}
	for _, err := range all {
		if undeleted, ok := errors.AsType[*sqslocal.DeleteError](err); ok && undeleted.SenderFault {
			t.Log(err)
			continue
		}
		t.Error(err)
	}
}

// checkExecutions requires at least one execution of each order, and that a kill
// interrupted all but the last. It returns the number of repetitions.
func checkExecutions(t *testing.T, f *function) (repeated int) {
	all, unexplained := f.executions(t), 0
	byKill := map[string]int{} // second executions, by the process that was killed
	check.Equal(t, len(all), good+poison, "orders were executed")
	for _, o := range append(orders(0, good, 1), orders(good, good+poison, 0)...) {
		list := all[o.OrderID]
		slices.SortFunc(list, func(a, b execution) int { return int(a.Attempt - b.Attempt) })
		status := map[bool]string{true: "placed", false: "rejected"}[o.Quantity > 0]
		if len(list) == 0 || list[0].Attempt < 1 || list[0].Status != status {
			t.Errorf("order %s: %+v", o.OrderID, list)
			continue
		}
		for i := 1; i < len(list); i++ {
			before, again := list[i-1], list[i]
			repeated++
			byKill[before.Process]++
			if again.Attempt > before.Attempt && again.Status == status && f.diedWith(before.Process, o.OrderID) {
				continue
			}
			if unexplained++; unexplained <= 10 {
				t.Errorf("order %s was executed again, although the process before was not killed with it: %+v", o.OrderID, list)
			}
		}
	}
	check.True(t, unexplained <= 10, unexplained, "unexplained executions")
	most := 0
	for process, n := range byKill {
		if most = max(most, n); n > unrecorded {
			t.Errorf("one kill caused %d second executions, more than the %d unrecorded ones, in %s", n, unrecorded, process)
		}
	}
	t.Logf("one kill caused %d second executions at most", most)
	check.Differ(t, repeated, 0, "no kill was between an effect and its record: this run has shown nothing")
	return repeated
}

// checkDead requires both messages of each poisoned order, and no others.
func checkDead(t *testing.T, dead map[string]int) {
	for _, o := range orders(good, good+poison, 0) {
		check.Equal(t, dead[o.OrderID], 2, o.OrderID, "messages in the dead-letter queue")
		delete(dead, o.OrderID)
	}
	check.Equal(t, len(dead), 0, "in the dead-letter queue", dead)
}

// checkRecords requires a finished record of every order.
func checkRecords(t *testing.T, f *function) {
	type record struct {
		Status string `dynamodbav:"status"`
	}
	count := map[string]int{}
	for _, r := range scan[record](t, f.client, f.records) {
		count[r.Status]++
	}
	if count["COMPLETED"] != good || count["FAILED"] != poison || len(count) != 2 {
		t.Errorf("records: %v", count)
	}
}
