package handlers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// rough returns a store whose writes take time and fail now and then, so many of a
// hundred, before or after they were applied.
func rough(store driver.Store, random *rand.Rand, faults int) driver.Store {
	var mu sync.Mutex
	return intercepted{store, func(_ context.Context, c storeCall, call func() error) error {
		if c.op == "read" {
			return call()
		}
		mu.Lock()
		took, roll := random.IntN(20), random.IntN(100)
		mu.Unlock()
		time.Sleep(time.Duration(took) * time.Millisecond)
		if roll < faults/2 {
			return driver.ErrUnavailable
		}
		err := call()
		if roll < faults {
			return driver.ErrUnavailable
		}
		return err
	}}
}

// work is what random batches did, by key.
type work struct {
	mu      sync.Mutex
	done    map[string]int // functions that returned nil
	running map[string]int
	open    map[int]int // functions running in each batch
	wrong   []string
}

func (w *work) see(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *work) check(ok bool, format string, args ...any) {
	if !ok {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

// Whatever fails in batches that cross: no two functions of a key run at the
// same time, no key has its effect twice, every acknowledged message has had
// its effect, groups stay in order, and retries finish everything.
func TestRandomBatchesNeitherLoseNorRepeatMessages(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { randomBatches(t, rand.New(rand.NewPCG(seed, 12)), seed) })
		if t.Failed() {
			return
		}
	}
}

func randomBatches(t *testing.T, random *rand.Rand, seed uint64) {
	store := memory.New(0)
	w := &work{done: map[string]int{}, running: map[string]int{}, open: map[int]int{}}
	config := idempotent.Config{Observer: idempotent.NoObserver{}, ReadFirst: random.IntN(2) == 0, CacheEntries: random.IntN(2) * 100, Lease: time.Duration(random.IntN(2)) * 20 * time.Second}
	if random.IntN(3) == 0 {
		config.Wait = time.Duration(random.IntN(3000)) * time.Millisecond
	}
	keys := 1 + random.IntN(12)
	fifo := random.IntN(2) == 0
	var batches sync.WaitGroup
	deliverBatch := func(n int, x *idempotent.Executor, calm bool, messages []events.SQSMessage, o handlers.SQSOptions) {
		fates := map[string]int{}
		for _, m := range messages {
			if fates[m.MessageId] = random.IntN(20); calm {
				fates[m.MessageId] = 20
			}
		}
		limit := max(o.Concurrency, 1)
		var ran []string
		handler := handlers.SQS(x, orderID, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			id := m.Body.ID
			w.see(func() {
				w.check(w.running[id] == 0, "batch %d: two functions run for %s", n, id)
				w.check(w.done[id] == 0, "batch %d: %s runs again", n, id)
				w.running[id]++
				w.open[n]++
				w.check(w.open[n] <= limit, "batch %d: %d functions run at once", n, w.open[n])
				ran = append(ran, m.Source.MessageId)
			})
			defer w.see(func() { w.running[id]--; w.open[n]-- })
			time.Sleep(time.Duration(len(id)*50+int(m.Source.MessageId[len(m.Source.MessageId)-1])%50) * time.Millisecond)
			switch fates[m.Source.MessageId] {
			case 0:
				return errOutOfStock
			case 1:
				panic("no such shelf")
			case 2:
				runtime.Goexit()
			}
			w.see(func() { w.done[id]++ })
			return nil
		}, &o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(60))*time.Second)
		if calm {
			ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		} else if random.IntN(4) == 0 {
			time.AfterFunc(time.Duration(random.IntN(3000))*time.Millisecond, cancel)
		}
		batches.Go(func() {
			defer cancel()
			answer, err := deliver(ctx, handler, sqsEvent(t, messages...))
			if err != nil {
				w.see(func() { w.check(!calm, "batch %d: %v", n, err) })
				return
			}
			failed := reportedIDs(t, answer)
			w.see(func() {
				for _, m := range messages {
					id := strings.TrimPrefix(m.MessageId, fmt.Sprintf("%d-", n))
					id = id[:strings.IndexByte(id, '-')]
					w.check(slices.Contains(failed, m.MessageId) || w.done[id] > 0, "batch %d: %s is acknowledged and had no effect", n, m.MessageId)
				}
				w.check(!calm || len(failed) == 0, "batch %d: %v failed in the end", n, failed)
				w.check(!fifo || !o.StopGroups || limit > 1 || slices.IsSortedFunc(ran, func(a, b string) int {
					return slices.IndexFunc(messages, func(m events.SQSMessage) bool { return m.MessageId == a }) - slices.IndexFunc(messages, func(m events.SQSMessage) bool { return m.MessageId == b })
				}), "batch %d: ran %v", n, ran)
			})
		})
	}
	newBatch := func(n, size int) (messages []events.SQSMessage) {
		for i := range size {
			id := fmt.Sprintf("o%d", random.IntN(keys))
			m := message(fmt.Sprintf("%d-%s-%d", n, id, i), order{ID: id})
			if fifo {
				m.EventSourceARN += ".fifo"
				m.Attributes = map[string]string{"MessageGroupId": string(rune('a' + random.IntN(3)))}
			}
			messages = append(messages, m)
		}
		return messages
	}
	for n := range 1 + random.IntN(4) {
		config := config
		config.Ahead = random.IntN(15) - 1
		x := newExecutor(t, rough(store, rand.New(rand.NewPCG(seed, uint64(n))), random.IntN(2)*10), &config)
		deliverBatch(n, x, false, newBatch(n, 1+random.IntN(20)), handlers.SQSOptions{
			OnFailure: quiet, Concurrency: random.IntN(4), Unrecorded: random.IntN(6),
			StopGroups: random.IntN(2) == 0,
		})
	}
	batches.Wait()
	time.Sleep(2 * time.Minute) // leases that nobody could release have ended
	var all []events.SQSMessage
	for i := range keys {
		all = append(all, message(fmt.Sprintf("9-o%d-%d", i, i), order{ID: fmt.Sprintf("o%d", i)}))
	}
	calm := newExecutor(t, store, &config)
	deliverBatch(9, calm, true, all, handlers.SQSOptions{OnFailure: quiet})
	batches.Wait()
	check.Slice(t, w.wrong, nil, "seed", seed)
	for id, n := range w.done {
		check.Equal(t, n, 1, id)
	}
}
